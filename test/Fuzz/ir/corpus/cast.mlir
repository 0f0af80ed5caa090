func.func @cast(
    %arg0: tensor<3x4xf64> {cs336.kind = "parameter", cs336.name = "cast.p0"})
    -> (tensor<3x4xf32> {cs336.kind = "output", cs336.name = "y"}, tensor<f64> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %0 = cs336.cast %arg0 : tensor<3x4xf64> -> tensor<3x4xf32>
  %1 = cs336.cast %0 : tensor<3x4xf32> -> tensor<3x4xf64>
  %2 = cs336.constant dense<[[2.54030230586813977e+00, 1.58385316345285765e+00, 1.01000750339955458e+00, 1.34635637913638817e+00], [2.28366218546322619e+00, 2.96017028665036586e+00, 2.75390225434330471e+00, 1.85449996619138657e+00], [1.08886973811532295e+00, 1.16092847092354745e+00, 2.00442569798805081e+00, 2.84385395873249225e+00]]> : tensor<3x4xf64>
  %3 = cs336.mul %1, %2 : tensor<3x4xf64>
  %4 = cs336.reduce sum %3 axes = [0, 1] : tensor<3x4xf64> -> tensor<f64>
  return %0, %4 : tensor<3x4xf32>, tensor<f64>
}
