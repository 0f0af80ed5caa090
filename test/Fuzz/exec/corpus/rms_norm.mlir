module {
  exec.variable @rms_norm.p0 parameter : memref<2x5xf64>
  exec.variable @rms_norm.p1 parameter : memref<5xf64>
  exec.kernel @mul_reduce_div_add_83fb(%arg0: tensor<2x5xf64>, %arg1: tensor<5xf64>) : (memref<2x5xf64>, memref<5xf64>) -> (memref<2xf64>, memref<2x5xf64>, memref<2x5xf64>) {
    %0 = cs336.mul %arg0, %arg0 : tensor<2x5xf64>
    %1 = cs336.reduce sum %0 axes = [1] : tensor<2x5xf64> -> tensor<2xf64>
    %2 = cs336.constant dense<5.000000e+00> : tensor<2xf64>
    %3 = cs336.div %1, %2 : tensor<2xf64>
    %4 = cs336.constant dense<1.000000e-05> : tensor<2xf64>
    %5 = cs336.add %3, %4 : tensor<2xf64>
    %6 = cs336.rsqrt %5 : tensor<2xf64>
    %7 = cs336.broadcast %6 dims = [0] : tensor<2xf64> -> tensor<2x5xf64>
    %8 = cs336.mul %arg0, %7 : tensor<2x5xf64>
    %9 = cs336.broadcast %arg1 dims = [1] : tensor<5xf64> -> tensor<2x5xf64>
    %10 = cs336.mul %9, %8 : tensor<2x5xf64>
    %11 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194, 0.28366218546322625], [0.96017028665036596, 0.7539022543433046, -0.14550003380861354, -0.91113026188467694, -0.83907152907645244]]> : tensor<2x5xf64>
    %12 = cs336.mul %9, %11 : tensor<2x5xf64>
    %13 = cs336.mul %12, %7 : tensor<2x5xf64>
    %14 = cs336.mul %12, %arg0 : tensor<2x5xf64>
    %15 = cs336.reduce sum %14 axes = [1] : tensor<2x5xf64> -> tensor<2xf64>
    %16 = cs336.mul %6, %6 : tensor<2xf64>
    %17 = cs336.mul %16, %6 : tensor<2xf64>
    %18 = cs336.constant dense<-5.000000e-01> : tensor<2xf64>
    %19 = cs336.mul %17, %18 : tensor<2xf64>
    %20 = cs336.mul %15, %19 : tensor<2xf64>
    %21 = cs336.div %20, %2 : tensor<2xf64>
    %22 = cs336.broadcast %21 dims = [0] : tensor<2xf64> -> tensor<2x5xf64>
    %23 = cs336.mul %22, %arg0 : tensor<2x5xf64>
    %24 = cs336.add %13, %23 : tensor<2x5xf64>
    %25 = cs336.add %24, %23 : tensor<2x5xf64>
    exec.yield %6, %10, %25 : tensor<2xf64>, tensor<2x5xf64>, tensor<2x5xf64>
  }
  exec.kernel @mul_reduce_21d5(%arg0: tensor<2x5xf64>) : (memref<2x5xf64>) -> memref<f64> {
    %0 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194, 0.28366218546322625], [0.96017028665036596, 0.7539022543433046, -0.14550003380861354, -0.91113026188467694, -0.83907152907645244]]> : tensor<2x5xf64>
    %1 = cs336.mul %arg0, %0 : tensor<2x5xf64>
    %2 = cs336.reduce sum %1 axes = [0, 1] : tensor<2x5xf64> -> tensor<f64>
    exec.yield %2 : tensor<f64>
  }
  exec.kernel @mul_mul_reduce_2d5e(%arg0: tensor<2x5xf64>, %arg1: tensor<2xf64>) : (memref<2x5xf64>, memref<2xf64>) -> memref<5xf64> {
    %0 = cs336.broadcast %arg1 dims = [0] : tensor<2xf64> -> tensor<2x5xf64>
    %1 = cs336.mul %arg0, %0 : tensor<2x5xf64>
    %2 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194, 0.28366218546322625], [0.96017028665036596, 0.7539022543433046, -0.14550003380861354, -0.91113026188467694, -0.83907152907645244]]> : tensor<2x5xf64>
    %3 = cs336.mul %1, %2 : tensor<2x5xf64>
    %4 = cs336.reduce sum %3 axes = [0] : tensor<2x5xf64> -> tensor<5xf64>
    exec.yield %4 : tensor<5xf64>
  }
  exec.entry @rms_norm mode<forward_backward> arena_bytes = 448 alignment = 64 {
    %rms_norm.p0 = exec.get @rms_norm.p0 : memref<2x5xf64>
    %rms_norm.p1 = exec.get @rms_norm.p1 : memref<5xf64>
    %y = exec.output "y" output offset = 0 : memref<2x5xf64>
    %loss = exec.output "loss" output offset = 320 : memref<f64>
    %rms_norm.p0_0 = exec.output "rms_norm.p0" gradient offset = 128 : memref<2x5xf64>
    %rms_norm.p1_1 = exec.output "rms_norm.p1" gradient offset = 384 : memref<5xf64>
    %0 = exec.alloc offset = 256 : memref<2xf64>
    exec.launch @mul_reduce_div_add_83fb ins(%rms_norm.p0, %rms_norm.p1 : memref<2x5xf64>, memref<5xf64>) outs(%0, %y, %rms_norm.p0_0 : memref<2xf64>, memref<2x5xf64>, memref<2x5xf64>)
    exec.launch @mul_reduce_21d5 ins(%y : memref<2x5xf64>) outs(%loss : memref<f64>)
    exec.launch @mul_mul_reduce_2d5e ins(%rms_norm.p0, %0 : memref<2x5xf64>, memref<2xf64>) outs(%rms_norm.p1_1 : memref<5xf64>)
  }
}

