module {
  exec.variable @embedding.p0 parameter : memref<5x3xf64>
  exec.kernel @constant_fec7() : () -> memref<2x3xi64> {
    %0 = cs336.constant dense<[[1, 4, 1], [0, 1, 4]]> : tensor<2x3xi64>
    exec.yield %0 : tensor<2x3xi64>
  }
  exec.kernel @embedding_9f2c(%arg0: tensor<5x3xf64>, %arg1: tensor<2x3xi64>) : (memref<5x3xf64>, memref<2x3xi64>) -> memref<2x3x3xf64> {
    %0 = cs336.embedding %arg0, %arg1 : tensor<5x3xf64>, tensor<2x3xi64> -> tensor<2x3x3xf64>
    exec.yield %0 : tensor<2x3x3xf64>
  }
  exec.kernel @mul_reduce_102c(%arg0: tensor<2x3x3xf64>) : (memref<2x3x3xf64>) -> memref<f64> {
    %0 = cs336.constant dense<[[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542], [-0.65364362086361194, 0.28366218546322625, 0.96017028665036596], [0.7539022543433046, -0.14550003380861354, -0.91113026188467694]], [[-0.83907152907645244, 0.0044256979880507854, 0.84385395873249214], [0.90744678145019619, 0.13673721820783361, -0.75968791285882131], [-0.95765948032338465, -0.27516333805159693, 0.66031670824408017]]]> : tensor<2x3x3xf64>
    %1 = cs336.mul %arg0, %0 : tensor<2x3x3xf64>
    %2 = cs336.reduce sum %1 axes = [0, 1, 2] : tensor<2x3x3xf64> -> tensor<f64>
    exec.yield %2 : tensor<f64>
  }
  exec.kernel @constant_c75a() : () -> memref<2x3x3xf64> {
    %0 = cs336.constant dense<[[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542], [-0.65364362086361194, 0.28366218546322625, 0.96017028665036596], [0.7539022543433046, -0.14550003380861354, -0.91113026188467694]], [[-0.83907152907645244, 0.0044256979880507854, 0.84385395873249214], [0.90744678145019619, 0.13673721820783361, -0.75968791285882131], [-0.95765948032338465, -0.27516333805159693, 0.66031670824408017]]]> : tensor<2x3x3xf64>
    exec.yield %0 : tensor<2x3x3xf64>
  }
  exec.kernel @embedding_grad_b064(%arg0: tensor<2x3xi64>, %arg1: tensor<2x3x3xf64>) : (memref<2x3xi64>, memref<2x3x3xf64>) -> memref<5x3xf64> {
    %0 = cs336.embedding_grad %arg0, %arg1 : tensor<2x3xi64>, tensor<2x3x3xf64> -> tensor<5x3xf64>
    exec.yield %0 : tensor<5x3xf64>
  }
  exec.entry @embedding mode<forward_backward> arena_bytes = 640 alignment = 64 {
    %embedding.p0 = exec.get @embedding.p0 : memref<5x3xf64>
    %y = exec.output "y" output offset = 0 : memref<2x3x3xf64>
    %loss = exec.output "loss" output offset = 576 : memref<f64>
    %embedding.p0_0 = exec.output "embedding.p0" gradient offset = 384 : memref<5x3xf64>
    %0 = exec.alloc offset = 512 : memref<2x3xi64>
    exec.launch @constant_fec7 outs(%0 : memref<2x3xi64>)
    exec.launch @embedding_9f2c ins(%embedding.p0, %0 : memref<5x3xf64>, memref<2x3xi64>) outs(%y : memref<2x3x3xf64>)
    exec.launch @mul_reduce_102c ins(%y : memref<2x3x3xf64>) outs(%loss : memref<f64>)
    %1 = exec.alloc offset = 192 : memref<2x3x3xf64>
    exec.launch @constant_c75a outs(%1 : memref<2x3x3xf64>)
    exec.launch @embedding_grad_b064 ins(%0, %1 : memref<2x3xi64>, memref<2x3x3xf64>) outs(%embedding.p0_0 : memref<5x3xf64>)
  }
}

