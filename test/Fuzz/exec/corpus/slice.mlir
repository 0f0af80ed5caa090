module {
  exec.variable @slice.p0 parameter : memref<4x5xf64>
  exec.kernel @mul_reduce_62b9(%arg0: tensor<2x3xf64>) : (memref<2x3xf64, strided<[5, 1]>>) -> memref<f64> {
    %0 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542], [-0.65364362086361194, 0.28366218546322625, 0.96017028665036596]]> : tensor<2x3xf64>
    %1 = cs336.mul %arg0, %0 : tensor<2x3xf64>
    %2 = cs336.reduce sum %1 axes = [0, 1] : tensor<2x3xf64> -> tensor<f64>
    exec.yield %2 : tensor<f64>
  }
  exec.kernel @constant_16cd() : () -> memref<2x3xf64> {
    %0 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542], [-0.65364362086361194, 0.28366218546322625, 0.96017028665036596]]> : tensor<2x3xf64>
    exec.yield %0 : tensor<2x3xf64>
  }
  exec.kernel @pad_1541(%arg0: tensor<2x3xf64>) : (memref<2x3xf64>) -> memref<4x5xf64> {
    %0 = cs336.pad %arg0 offsets = [1, 2] : tensor<2x3xf64> -> tensor<4x5xf64>
    exec.yield %0 : tensor<4x5xf64>
  }
  exec.entry @slice mode<forward_backward> arena_bytes = 320 alignment = 64 {
    %slice.p0 = exec.get @slice.p0 : memref<4x5xf64>
    %y = exec.output "y" output offset = 256 : memref<2x3xf64>
    %loss = exec.output "loss" output offset = 192 : memref<f64>
    %slice.p0_0 = exec.output "slice.p0" gradient offset = 0 : memref<4x5xf64>
    %0 = exec.view %slice.p0 : memref<4x5xf64> to memref<2x3xf64, strided<[5, 1], offset: 7>>
    exec.launch @mul_reduce_62b9 ins(%0 : memref<2x3xf64, strided<[5, 1], offset: 7>>) outs(%loss : memref<f64>)
    %1 = exec.alloc offset = 256 : memref<2x3xf64>
    exec.launch @constant_16cd outs(%1 : memref<2x3xf64>)
    exec.launch @pad_1541 ins(%1 : memref<2x3xf64>) outs(%slice.p0_0 : memref<4x5xf64>)
    exec.copy ins(%0 : memref<2x3xf64, strided<[5, 1], offset: 7>>) outs(%y : memref<2x3xf64>)
  }
}

