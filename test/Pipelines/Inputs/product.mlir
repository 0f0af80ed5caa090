// A matmul between pointwise operations.
func.func @forward(%a: tensor<64x128xf32>, %b: tensor<128x32xf32>) -> tensor<64x32xf32> {
  %0 = cs336.exp %a : tensor<64x128xf32>
  %1 = cs336.matmul %0, %b : tensor<64x128xf32>, tensor<128x32xf32> -> tensor<64x32xf32>
  %2 = cs336.neg %1 : tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}
