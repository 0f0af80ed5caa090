func.func @broadcast(
    %arg0: tensor<3x1xf64> {cs336.kind = "parameter", cs336.name = "broadcast.p0"})
    -> (tensor<3x4x1xf64> {cs336.kind = "output", cs336.name = "y"}, tensor<f64> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %0 = cs336.broadcast %arg0 dims = [0, 2] : tensor<3x1xf64> -> tensor<3x4x1xf64>
  %1 = cs336.constant dense<[[[5.40302305868139765e-01], [-4.16146836547142407e-01], [-9.89992496600445415e-01], [-6.53643620863611940e-01]], [[2.83662185463226246e-01], [9.60170286650365967e-01], [7.53902254343304601e-01], [-1.45500033808613538e-01]], [[-9.11130261884676940e-01], [-8.39071529076452438e-01], [4.42569798805078542e-03], [8.43853958732492138e-01]]]> : tensor<3x4x1xf64>
  %2 = cs336.mul %0, %1 : tensor<3x4x1xf64>
  %3 = cs336.reduce sum %2 axes = [0, 1, 2] : tensor<3x4x1xf64> -> tensor<f64>
  return %0, %3 : tensor<3x4x1xf64>, tensor<f64>
}
