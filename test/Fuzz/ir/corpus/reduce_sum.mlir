func.func @reduce_sum(
    %arg0: tensor<2x3x4xf64> {cs336.kind = "parameter", cs336.name = "reduce_sum.p0"})
    -> (tensor<3xf64> {cs336.kind = "output", cs336.name = "y"}, tensor<f64> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %0 = cs336.reduce sum %arg0 axes = [0, 2] : tensor<2x3x4xf64> -> tensor<3xf64>
  %1 = cs336.constant dense<[5.40302305868139765e-01, -4.16146836547142407e-01, -9.89992496600445415e-01]> : tensor<3xf64>
  %2 = cs336.mul %0, %1 : tensor<3xf64>
  %3 = cs336.reduce sum %2 axes = [0] : tensor<3xf64> -> tensor<f64>
  return %0, %3 : tensor<3xf64>, tensor<f64>
}
