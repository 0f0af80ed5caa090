module {
  exec.variable @linear.p0 parameter : memref<2x2x3xf64>
  exec.variable @linear.p1 parameter : memref<4x3xf64>
  exec.kernel @mul_reduce_37c8(%arg0: tensor<2x2x4xf64>) : (memref<2x2x4xf64>) -> memref<f64> {
    %0 = cs336.constant dense<[[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194], [0.28366218546322625, 0.96017028665036596, 0.7539022543433046, -0.14550003380861354]], [[-0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214], [0.90744678145019619, 0.13673721820783361, -0.75968791285882131, -0.95765948032338465]]]> : tensor<2x2x4xf64>
    %1 = cs336.mul %arg0, %0 : tensor<2x2x4xf64>
    %2 = cs336.reduce sum %1 axes = [0, 1, 2] : tensor<2x2x4xf64> -> tensor<f64>
    exec.yield %2 : tensor<f64>
  }
  exec.kernel @constant_b05a() : () -> memref<2x2x4xf64> {
    %0 = cs336.constant dense<[[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194], [0.28366218546322625, 0.96017028665036596, 0.7539022543433046, -0.14550003380861354]], [[-0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214], [0.90744678145019619, 0.13673721820783361, -0.75968791285882131, -0.95765948032338465]]]> : tensor<2x2x4xf64>
    exec.yield %0 : tensor<2x2x4xf64>
  }
  exec.entry @linear mode<forward_backward> arena_bytes = 576 alignment = 64 {
    %linear.p0 = exec.get @linear.p0 : memref<2x2x3xf64>
    %linear.p1 = exec.get @linear.p1 : memref<4x3xf64>
    %y = exec.output "y" output offset = 0 : memref<2x2x4xf64>
    %loss = exec.output "loss" output offset = 512 : memref<f64>
    %linear.p0_0 = exec.output "linear.p0" gradient offset = 256 : memref<2x2x3xf64>
    %linear.p1_1 = exec.output "linear.p1" gradient offset = 384 : memref<4x3xf64>
    %0 = exec.view %linear.p0 : memref<2x2x3xf64> to memref<4x3xf64>
    %1 = exec.view %linear.p1 : memref<4x3xf64> to memref<3x4xf64, strided<[1, 3]>>
    %2 = exec.view %y : memref<2x2x4xf64> to memref<4x4xf64>
    exec.gemm ins(%0, %1 : memref<4x3xf64>, memref<3x4xf64, strided<[1, 3]>>) outs(%2 : memref<4x4xf64>)
    exec.launch @mul_reduce_37c8 ins(%y : memref<2x2x4xf64>) outs(%loss : memref<f64>)
    %3 = exec.alloc offset = 128 : memref<2x2x4xf64>
    exec.launch @constant_b05a outs(%3 : memref<2x2x4xf64>)
    %4 = exec.view %3 : memref<2x2x4xf64> to memref<4x4xf64>
    %5 = exec.view %linear.p0_0 : memref<2x2x3xf64> to memref<4x3xf64>
    exec.gemm ins(%4, %linear.p1 : memref<4x4xf64>, memref<4x3xf64>) outs(%5 : memref<4x3xf64>)
    %6 = exec.view %3 : memref<2x2x4xf64> to memref<4x4xf64, strided<[1, 4]>>
    %7 = exec.view %linear.p0 : memref<2x2x3xf64> to memref<4x3xf64>
    exec.gemm ins(%6, %7 : memref<4x4xf64, strided<[1, 4]>>, memref<4x3xf64>) outs(%linear.p1_1 : memref<4x3xf64>)
  }
}

