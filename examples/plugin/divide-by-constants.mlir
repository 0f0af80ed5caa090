// cs336-opt --load-pass-plugin=DivideByConstants.so --pass-pipeline='builtin.module(func.func(example-divide-by-constants))' divide-by-constants.mlir

// 1/√16 is exact.
func.func @scaled(%scores: tensor<4x9x9xf32>) -> tensor<4x9x9xf32> {
  %root = cs336.constant dense<4.0> : tensor<4x9x9xf32>
  %y = cs336.div %scores, %root : tensor<4x9x9xf32>
  return %y : tensor<4x9x9xf32>
}

// 1/3 is not.
func.func @thirds(%x: tensor<8xf32>) -> tensor<8xf32> {
  %three = cs336.constant dense<3.0> : tensor<8xf32>
  %y = cs336.div %x, %three : tensor<8xf32>
  return %y : tensor<8xf32>
}
