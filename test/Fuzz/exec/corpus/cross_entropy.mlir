module {
  exec.variable @cross_entropy.p0 parameter : memref<2x3x5xf64>
  exec.kernel @reduce_sub_exp_reduce_c5ab(%arg0: tensor<2x3x5xf64>) : (memref<2x3x5xf64>) -> (memref<2x3xf64>, memref<2x3x5xf64>) {
    %0 = cs336.reduce max %arg0 axes = [2] {stop_gradient} : tensor<2x3x5xf64> -> tensor<2x3xf64>
    %1 = cs336.broadcast %0 dims = [0, 1] : tensor<2x3xf64> -> tensor<2x3x5xf64>
    %2 = cs336.sub %arg0, %1 : tensor<2x3x5xf64>
    %3 = cs336.exp %2 : tensor<2x3x5xf64>
    %4 = cs336.reduce sum %3 axes = [2] : tensor<2x3x5xf64> -> tensor<2x3xf64>
    %5 = cs336.log %4 : tensor<2x3xf64>
    %6 = cs336.iota axis = 2 : tensor<2x3x5xi64>
    %7 = cs336.constant dense<[[1, 4, 0], [2, 2, 3]]> : tensor<2x3xi64>
    %8 = cs336.broadcast %7 dims = [0, 1] : tensor<2x3xi64> -> tensor<2x3x5xi64>
    %9 = cs336.compare eq %6, %8 : tensor<2x3x5xi64>
    %10 = cs336.constant dense<0.000000e+00> : tensor<2x3x5xf64>
    %11 = cs336.select %9, %2, %10 : tensor<2x3x5xf64>
    %12 = cs336.reduce sum %11 axes = [2] : tensor<2x3x5xf64> -> tensor<2x3xf64>
    %13 = cs336.sub %5, %12 : tensor<2x3xf64>
    %14 = cs336.constant dense<0.090050384311356632> : tensor<2x3xf64>
    %15 = cs336.div %14, %4 : tensor<2x3xf64>
    %16 = cs336.broadcast %15 dims = [0, 1] : tensor<2x3xf64> -> tensor<2x3x5xf64>
    %17 = cs336.mul %16, %3 : tensor<2x3x5xf64>
    %18 = cs336.broadcast %7 dims = [0, 1] : tensor<2x3xi64> -> tensor<2x3x5xi64>
    %19 = cs336.compare eq %6, %18 : tensor<2x3x5xi64>
    %20 = cs336.constant dense<-0.090050384311356632> : tensor<2x3x5xf64>
    %21 = cs336.select %19, %20, %10 : tensor<2x3x5xf64>
    %22 = cs336.add %21, %17 : tensor<2x3x5xf64>
    exec.yield %13, %22 : tensor<2x3xf64>, tensor<2x3x5xf64>
  }
  exec.kernel @reduce_ff9c(%arg0: tensor<2x3xf64>) : (memref<2x3xf64>) -> memref<f64> {
    %0 = cs336.reduce sum %arg0 axes = [0, 1] : tensor<2x3xf64> -> tensor<f64>
    exec.yield %0 : tensor<f64>
  }
  exec.kernel @div_mul_b1b8(%arg0: tensor<f64>) : (memref<f64>) -> (memref<f64>, memref<f64>) {
    %0 = cs336.constant dense<6.000000e+00> : tensor<f64>
    %1 = cs336.div %arg0, %0 : tensor<f64>
    %2 = cs336.constant dense<0.54030230586813977> : tensor<f64>
    %3 = cs336.mul %1, %2 : tensor<f64>
    exec.yield %1, %3 : tensor<f64>, tensor<f64>
  }
  exec.entry @cross_entropy mode<forward_backward> arena_bytes = 448 alignment = 64 {
    %cross_entropy.p0 = exec.get @cross_entropy.p0 : memref<2x3x5xf64>
    %y = exec.output "y" output offset = 256 : memref<f64>
    %loss = exec.output "loss" output offset = 384 : memref<f64>
    %cross_entropy.p0_0 = exec.output "cross_entropy.p0" gradient offset = 0 : memref<2x3x5xf64>
    %0 = exec.alloc offset = 256 : memref<2x3xf64>
    exec.launch @reduce_sub_exp_reduce_c5ab ins(%cross_entropy.p0 : memref<2x3x5xf64>) outs(%0, %cross_entropy.p0_0 : memref<2x3xf64>, memref<2x3x5xf64>)
    %1 = exec.alloc offset = 320 : memref<f64>
    exec.launch @reduce_ff9c ins(%0 : memref<2x3xf64>) outs(%1 : memref<f64>)
    exec.launch @div_mul_b1b8 ins(%1 : memref<f64>) outs(%y, %loss : memref<f64>, memref<f64>)
  }
}

