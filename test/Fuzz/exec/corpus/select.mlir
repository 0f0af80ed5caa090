module {
  exec.variable @select.p0 parameter : memref<3x4xf64>
  exec.variable @select.p1 parameter : memref<3x4xf64>
  exec.kernel @compare_5d64() : () -> memref<3x4xi1> {
    %0 = cs336.iota axis = 0 : tensor<3x4xi64>
    %1 = cs336.iota axis = 1 : tensor<3x4xi64>
    %2 = cs336.compare ge %0, %1 : tensor<3x4xi64>
    exec.yield %2 : tensor<3x4xi1>
  }
  exec.kernel @compare_select_9d55(%arg0: tensor<3x4xf64>, %arg1: tensor<3x4xf64>) : (memref<3x4xf64>, memref<3x4xf64>) -> memref<3x4xf64> {
    %0 = cs336.iota axis = 0 : tensor<3x4xi64>
    %1 = cs336.iota axis = 1 : tensor<3x4xi64>
    %2 = cs336.compare ge %0, %1 : tensor<3x4xi64>
    %3 = cs336.select %2, %arg0, %arg1 : tensor<3x4xf64>
    exec.yield %3 : tensor<3x4xf64>
  }
  exec.kernel @mul_reduce_457e(%arg0: tensor<3x4xf64>) : (memref<3x4xf64>) -> memref<f64> {
    %0 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194], [0.28366218546322625, 0.96017028665036596, 0.7539022543433046, -0.14550003380861354], [-0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214]]> : tensor<3x4xf64>
    %1 = cs336.mul %arg0, %0 : tensor<3x4xf64>
    %2 = cs336.reduce sum %1 axes = [0, 1] : tensor<3x4xf64> -> tensor<f64>
    exec.yield %2 : tensor<f64>
  }
  exec.kernel @select_d7f6(%arg0: tensor<3x4xi1>) : (memref<3x4xi1>) -> memref<3x4xf64> {
    %0 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194], [0.28366218546322625, 0.96017028665036596, 0.7539022543433046, -0.14550003380861354], [-0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214]]> : tensor<3x4xf64>
    %1 = cs336.constant dense<0.000000e+00> : tensor<3x4xf64>
    %2 = cs336.select %arg0, %0, %1 : tensor<3x4xf64>
    exec.yield %2 : tensor<3x4xf64>
  }
  exec.kernel @select_225b(%arg0: tensor<3x4xi1>) : (memref<3x4xi1>) -> memref<3x4xf64> {
    %0 = cs336.constant dense<0.000000e+00> : tensor<3x4xf64>
    %1 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194], [0.28366218546322625, 0.96017028665036596, 0.7539022543433046, -0.14550003380861354], [-0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214]]> : tensor<3x4xf64>
    %2 = cs336.select %arg0, %0, %1 : tensor<3x4xf64>
    exec.yield %2 : tensor<3x4xf64>
  }
  exec.entry @select mode<forward_backward> arena_bytes = 512 alignment = 64 {
    %select.p0 = exec.get @select.p0 : memref<3x4xf64>
    %select.p1 = exec.get @select.p1 : memref<3x4xf64>
    %y = exec.output "y" output offset = 0 : memref<3x4xf64>
    %loss = exec.output "loss" output offset = 448 : memref<f64>
    %select.p0_0 = exec.output "select.p0" gradient offset = 128 : memref<3x4xf64>
    %select.p1_1 = exec.output "select.p1" gradient offset = 256 : memref<3x4xf64>
    %0 = exec.alloc offset = 384 : memref<3x4xi1>
    exec.launch @compare_5d64 outs(%0 : memref<3x4xi1>)
    exec.launch @compare_select_9d55 ins(%select.p0, %select.p1 : memref<3x4xf64>, memref<3x4xf64>) outs(%y : memref<3x4xf64>)
    exec.launch @mul_reduce_457e ins(%y : memref<3x4xf64>) outs(%loss : memref<f64>)
    exec.launch @select_d7f6 ins(%0 : memref<3x4xi1>) outs(%select.p0_0 : memref<3x4xf64>)
    exec.launch @select_225b ins(%0 : memref<3x4xi1>) outs(%select.p1_1 : memref<3x4xf64>)
  }
}

