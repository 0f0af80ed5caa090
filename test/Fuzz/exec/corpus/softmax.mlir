module {
  exec.variable @softmax.p0 parameter : memref<3x7xf64>
  exec.kernel @softmax_softmax_backward_8f21(%arg0: tensor<3x7xf64>) : (memref<3x7xf64>) -> (memref<3x7xf64>, memref<3x7xf64>) {
    %0 = cs336.softmax %arg0 : tensor<3x7xf64>
    %1 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194, 0.28366218546322625, 0.96017028665036596, 0.7539022543433046], [-0.14550003380861354, -0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214, 0.90744678145019619, 0.13673721820783361], [-0.75968791285882131, -0.95765948032338465, -0.27516333805159693, 0.66031670824408017, 0.98870461818666921, 0.40808206181339196, -0.54772926022426838]]> : tensor<3x7xf64>
    %2 = cs336.softmax_backward %0, %1 : tensor<3x7xf64>
    exec.yield %0, %2 : tensor<3x7xf64>, tensor<3x7xf64>
  }
  exec.kernel @mul_reduce_ad64(%arg0: tensor<3x7xf64>) : (memref<3x7xf64>) -> memref<f64> {
    %0 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194, 0.28366218546322625, 0.96017028665036596, 0.7539022543433046], [-0.14550003380861354, -0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214, 0.90744678145019619, 0.13673721820783361], [-0.75968791285882131, -0.95765948032338465, -0.27516333805159693, 0.66031670824408017, 0.98870461818666921, 0.40808206181339196, -0.54772926022426838]]> : tensor<3x7xf64>
    %1 = cs336.mul %arg0, %0 : tensor<3x7xf64>
    %2 = cs336.reduce sum %1 axes = [0, 1] : tensor<3x7xf64> -> tensor<f64>
    exec.yield %2 : tensor<f64>
  }
  exec.entry @softmax mode<forward_backward> arena_bytes = 448 alignment = 64 {
    %softmax.p0 = exec.get @softmax.p0 : memref<3x7xf64>
    %y = exec.output "y" output offset = 0 : memref<3x7xf64>
    %loss = exec.output "loss" output offset = 384 : memref<f64>
    %softmax.p0_0 = exec.output "softmax.p0" gradient offset = 192 : memref<3x7xf64>
    exec.launch @softmax_softmax_backward_8f21 ins(%softmax.p0 : memref<3x7xf64>) outs(%y, %softmax.p0_0 : memref<3x7xf64>, memref<3x7xf64>)
    exec.launch @mul_reduce_ad64 ins(%y : memref<3x7xf64>) outs(%loss : memref<f64>)
  }
}

