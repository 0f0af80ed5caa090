func.func @embedding(
    %arg0: tensor<5x3xf64> {cs336.kind = "parameter", cs336.name = "embedding.p0"})
    -> (tensor<2x3x3xf64> {cs336.kind = "output", cs336.name = "y"}, tensor<f64> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %0 = cs336.constant dense<[[1, 4, 1], [0, 1, 4]]> : tensor<2x3xi64>
  %1 = cs336.embedding %arg0, %0 : tensor<5x3xf64>, tensor<2x3xi64> -> tensor<2x3x3xf64>
  %2 = cs336.constant dense<[[[5.40302305868139765e-01, -4.16146836547142407e-01, -9.89992496600445415e-01], [-6.53643620863611940e-01, 2.83662185463226246e-01, 9.60170286650365967e-01], [7.53902254343304601e-01, -1.45500033808613538e-01, -9.11130261884676940e-01]], [[-8.39071529076452438e-01, 4.42569798805078542e-03, 8.43853958732492138e-01], [9.07446781450196194e-01, 1.36737218207833605e-01, -7.59687912858821313e-01], [-9.57659480323384660e-01, -2.75163338051596928e-01, 6.60316708244080175e-01]]]> : tensor<2x3x3xf64>
  %3 = cs336.mul %1, %2 : tensor<2x3x3xf64>
  %4 = cs336.reduce sum %3 axes = [0, 1, 2] : tensor<2x3x3xf64> -> tensor<f64>
  return %1, %4 : tensor<2x3x3xf64>, tensor<f64>
}
