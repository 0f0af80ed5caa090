module {
  exec.variable @concat.p0 parameter : memref<2x3xf64>
  exec.variable @concat.p1 parameter : memref<2x1xf64>
  exec.kernel @concat_dfc6(%arg0: tensor<2x3xf64>, %arg1: tensor<2x1xf64>) : (memref<2x3xf64>, memref<2x1xf64>) -> memref<2x7xf64> {
    %0 = cs336.concat axis = 1 %arg0, %arg1, %arg0 : tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x3xf64> -> tensor<2x7xf64>
    exec.yield %0 : tensor<2x7xf64>
  }
  exec.kernel @mul_reduce_7aa2(%arg0: tensor<2x7xf64>) : (memref<2x7xf64>) -> memref<f64> {
    %0 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194, 0.28366218546322625, 0.96017028665036596, 0.7539022543433046], [-0.14550003380861354, -0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214, 0.90744678145019619, 0.13673721820783361]]> : tensor<2x7xf64>
    %1 = cs336.mul %arg0, %0 : tensor<2x7xf64>
    %2 = cs336.reduce sum %1 axes = [0, 1] : tensor<2x7xf64> -> tensor<f64>
    exec.yield %2 : tensor<f64>
  }
  exec.kernel @constant_9ded() : () -> memref<2x7xf64> {
    %0 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194, 0.28366218546322625, 0.96017028665036596, 0.7539022543433046], [-0.14550003380861354, -0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214, 0.90744678145019619, 0.13673721820783361]]> : tensor<2x7xf64>
    exec.yield %0 : tensor<2x7xf64>
  }
  exec.kernel @add_bc89(%arg0: tensor<2x3xf64>, %arg1: tensor<2x3xf64>) : (memref<2x3xf64, strided<[7, 1]>>, memref<2x3xf64, strided<[7, 1]>>) -> memref<2x3xf64> {
    %0 = cs336.add %arg0, %arg1 : tensor<2x3xf64>
    exec.yield %0 : tensor<2x3xf64>
  }
  exec.entry @concat mode<forward_backward> arena_bytes = 448 alignment = 64 {
    %concat.p0 = exec.get @concat.p0 : memref<2x3xf64>
    %concat.p1 = exec.get @concat.p1 : memref<2x1xf64>
    %y = exec.output "y" output offset = 0 : memref<2x7xf64>
    %loss = exec.output "loss" output offset = 256 : memref<f64>
    %concat.p0_0 = exec.output "concat.p0" gradient offset = 320 : memref<2x3xf64>
    %concat.p1_1 = exec.output "concat.p1" gradient offset = 384 : memref<2x1xf64>
    exec.launch @concat_dfc6 ins(%concat.p0, %concat.p1 : memref<2x3xf64>, memref<2x1xf64>) outs(%y : memref<2x7xf64>)
    exec.launch @mul_reduce_7aa2 ins(%y : memref<2x7xf64>) outs(%loss : memref<f64>)
    %0 = exec.alloc offset = 128 : memref<2x7xf64>
    exec.launch @constant_9ded outs(%0 : memref<2x7xf64>)
    %1 = exec.view %0 : memref<2x7xf64> to memref<2x3xf64, strided<[7, 1]>>
    %2 = exec.view %0 : memref<2x7xf64> to memref<2x3xf64, strided<[7, 1], offset: 4>>
    exec.launch @add_bc89 ins(%1, %2 : memref<2x3xf64, strided<[7, 1]>>, memref<2x3xf64, strided<[7, 1], offset: 4>>) outs(%concat.p0_0 : memref<2x3xf64>)
    %3 = exec.view %0 : memref<2x7xf64> to memref<2x1xf64, strided<[7, 1], offset: 3>>
    exec.copy ins(%3 : memref<2x1xf64, strided<[7, 1], offset: 3>>) outs(%concat.p1_1 : memref<2x1xf64>)
  }
}

