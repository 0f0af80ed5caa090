module {
  exec.variable @rope.p0 parameter : memref<2x3x4xf64>
  exec.variable @invariant.0e4a7e1731a8e146 derived : memref<3x2xf64>
  exec.variable @invariant.720b05d94ee7aa30 derived : memref<3x2xf64>
  exec.variable @invariant.308f88a879f7fc5f derived : memref<2x3x2x2xf64>
  exec.kernel @mul_mul_mul_mul_993f(%arg0: tensor<2x3x2x1xf64>, %arg1: tensor<3x2xf64>, %arg2: tensor<2x3x2x1xf64>, %arg3: tensor<3x2xf64>) : (memref<2x3x2x1xf64, strided<[12, 4, 2, 1]>>, memref<3x2xf64>, memref<2x3x2x1xf64, strided<[12, 4, 2, 1]>>, memref<3x2xf64>) -> memref<2x3x2x2xf64> {
    %0 = cs336.broadcast %arg1 dims = [1, 2] : tensor<3x2xf64> -> tensor<2x3x2x1xf64>
    %1 = cs336.mul %arg0, %0 : tensor<2x3x2x1xf64>
    %2 = cs336.broadcast %arg3 dims = [1, 2] : tensor<3x2xf64> -> tensor<2x3x2x1xf64>
    %3 = cs336.mul %arg2, %2 : tensor<2x3x2x1xf64>
    %4 = cs336.mul %arg0, %2 : tensor<2x3x2x1xf64>
    %5 = cs336.mul %arg2, %0 : tensor<2x3x2x1xf64>
    %6 = cs336.sub %1, %3 : tensor<2x3x2x1xf64>
    %7 = cs336.add %4, %5 : tensor<2x3x2x1xf64>
    %8 = cs336.concat axis = 3 %6, %7 : tensor<2x3x2x1xf64>, tensor<2x3x2x1xf64> -> tensor<2x3x2x2xf64>
    exec.yield %8 : tensor<2x3x2x2xf64>
  }
  exec.kernel @mul_reduce_2068(%arg0: tensor<2x3x4xf64>) : (memref<2x3x4xf64>) -> memref<f64> {
    %0 = cs336.constant dense<[[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194], [0.28366218546322625, 0.96017028665036596, 0.7539022543433046, -0.14550003380861354], [-0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214]], [[0.90744678145019619, 0.13673721820783361, -0.75968791285882131, -0.95765948032338465], [-0.27516333805159693, 0.66031670824408017, 0.98870461818666921, 0.40808206181339196], [-0.54772926022426838, -0.99996082639463713, -0.53283302033339752, 0.42417900733699698]]]> : tensor<2x3x4xf64>
    %1 = cs336.mul %arg0, %0 : tensor<2x3x4xf64>
    %2 = cs336.reduce sum %1 axes = [0, 1, 2] : tensor<2x3x4xf64> -> tensor<f64>
    exec.yield %2 : tensor<f64>
  }
  exec.kernel @mul_div_pow_mul_9b56() : () -> (memref<3x2xf64>, memref<3x2xf64>) {
    %0 = cs336.iota axis = 0 : tensor<3x2xf64>
    %1 = cs336.constant dense<1.000000e+02> : tensor<3x2xf64>
    %2 = cs336.iota axis = 1 : tensor<3x2xf64>
    %3 = cs336.constant dense<-2.000000e+00> : tensor<3x2xf64>
    %4 = cs336.mul %2, %3 : tensor<3x2xf64>
    %5 = cs336.constant dense<4.000000e+00> : tensor<3x2xf64>
    %6 = cs336.div %4, %5 : tensor<3x2xf64>
    %7 = cs336.pow %1, %6 : tensor<3x2xf64>
    %8 = cs336.mul %0, %7 : tensor<3x2xf64>
    %9 = cs336.cos %8 : tensor<3x2xf64>
    %10 = cs336.sin %8 : tensor<3x2xf64>
    exec.yield %9, %10 : tensor<3x2xf64>, tensor<3x2xf64>
  }
  exec.kernel @constant_cac1() : () -> memref<2x3x4xf64> {
    %0 = cs336.constant dense<[[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194], [0.28366218546322625, 0.96017028665036596, 0.7539022543433046, -0.14550003380861354], [-0.91113026188467694, -0.83907152907645244, 0.0044256979880507854, 0.84385395873249214]], [[0.90744678145019619, 0.13673721820783361, -0.75968791285882131, -0.95765948032338465], [-0.27516333805159693, 0.66031670824408017, 0.98870461818666921, 0.40808206181339196], [-0.54772926022426838, -0.99996082639463713, -0.53283302033339752, 0.42417900733699698]]]> : tensor<2x3x4xf64>
    exec.yield %0 : tensor<2x3x4xf64>
  }
  exec.kernel @mul_mul_add_mul_72de(%arg0: tensor<2x3x2x1xf64>, %arg1: tensor<3x2xf64>, %arg2: tensor<2x3x2x1xf64>, %arg3: tensor<3x2xf64>) : (memref<2x3x2x1xf64, strided<[12, 4, 2, 1]>>, memref<3x2xf64>, memref<2x3x2x1xf64, strided<[12, 4, 2, 1]>>, memref<3x2xf64>) -> memref<2x3x2x2xf64> {
    %0 = cs336.broadcast %arg1 dims = [1, 2] : tensor<3x2xf64> -> tensor<2x3x2x1xf64>
    %1 = cs336.mul %arg0, %0 : tensor<2x3x2x1xf64>
    %2 = cs336.broadcast %arg3 dims = [1, 2] : tensor<3x2xf64> -> tensor<2x3x2x1xf64>
    %3 = cs336.mul %arg2, %2 : tensor<2x3x2x1xf64>
    %4 = cs336.add %1, %3 : tensor<2x3x2x1xf64>
    %5 = cs336.mul %arg0, %2 : tensor<2x3x2x1xf64>
    %6 = cs336.neg %arg2 : tensor<2x3x2x1xf64>
    %7 = cs336.mul %6, %0 : tensor<2x3x2x1xf64>
    %8 = cs336.add %5, %7 : tensor<2x3x2x1xf64>
    %9 = cs336.concat axis = 3 %4, %8 : tensor<2x3x2x1xf64>, tensor<2x3x2x1xf64> -> tensor<2x3x2x2xf64>
    exec.yield %9 : tensor<2x3x2x2xf64>
  }
  exec.entry @rope mode<forward_backward> arena_bytes = 448 alignment = 64 {
    %rope.p0 = exec.get @rope.p0 : memref<2x3x4xf64>
    %invariant.0e4a7e1731a8e146 = exec.get @invariant.0e4a7e1731a8e146 : memref<3x2xf64>
    %invariant.720b05d94ee7aa30 = exec.get @invariant.720b05d94ee7aa30 : memref<3x2xf64>
    %invariant.308f88a879f7fc5f = exec.get @invariant.308f88a879f7fc5f : memref<2x3x2x2xf64>
    %y = exec.output "y" output offset = 192 : memref<2x3x4xf64>
    %loss = exec.output "loss" output offset = 384 : memref<f64>
    %rope.p0_0 = exec.output "rope.p0" gradient offset = 0 : memref<2x3x4xf64>
    %0 = exec.view %rope.p0 : memref<2x3x4xf64> to memref<2x3x2x1xf64, strided<[12, 4, 2, 1]>>
    %1 = exec.view %rope.p0 : memref<2x3x4xf64> to memref<2x3x2x1xf64, strided<[12, 4, 2, 1], offset: 1>>
    %2 = exec.alloc offset = 0 : memref<2x3x2x2xf64>
    exec.launch @mul_mul_mul_mul_993f ins(%0, %invariant.0e4a7e1731a8e146, %1, %invariant.720b05d94ee7aa30 : memref<2x3x2x1xf64, strided<[12, 4, 2, 1]>>, memref<3x2xf64>, memref<2x3x2x1xf64, strided<[12, 4, 2, 1], offset: 1>>, memref<3x2xf64>) outs(%2 : memref<2x3x2x2xf64>)
    %3 = exec.view %2 : memref<2x3x2x2xf64> to memref<2x3x4xf64>
    exec.launch @mul_reduce_2068 ins(%3 : memref<2x3x4xf64>) outs(%loss : memref<f64>)
    exec.copy ins(%3 : memref<2x3x4xf64>) outs(%y : memref<2x3x4xf64>)
    %4 = exec.view %invariant.308f88a879f7fc5f : memref<2x3x2x2xf64> to memref<2x3x4xf64>
    exec.copy ins(%4 : memref<2x3x4xf64>) outs(%rope.p0_0 : memref<2x3x4xf64>)
  }
  exec.entry @prepare mode<prepare> arena_bytes = 192 alignment = 64 {
    %invariant.0e4a7e1731a8e146 = exec.get @invariant.0e4a7e1731a8e146 : memref<3x2xf64>
    %invariant.720b05d94ee7aa30 = exec.get @invariant.720b05d94ee7aa30 : memref<3x2xf64>
    %invariant.308f88a879f7fc5f = exec.get @invariant.308f88a879f7fc5f : memref<2x3x2x2xf64>
    exec.launch @mul_div_pow_mul_9b56 outs(%invariant.0e4a7e1731a8e146, %invariant.720b05d94ee7aa30 : memref<3x2xf64>, memref<3x2xf64>)
    %0 = exec.alloc offset = 0 : memref<2x3x4xf64>
    exec.launch @constant_cac1 outs(%0 : memref<2x3x4xf64>)
    %1 = exec.view %0 : memref<2x3x4xf64> to memref<2x3x2x1xf64, strided<[12, 4, 2, 1], offset: 1>>
    %2 = exec.view %0 : memref<2x3x4xf64> to memref<2x3x2x1xf64, strided<[12, 4, 2, 1]>>
    exec.launch @mul_mul_add_mul_72de ins(%1, %invariant.720b05d94ee7aa30, %2, %invariant.0e4a7e1731a8e146 : memref<2x3x2x1xf64, strided<[12, 4, 2, 1], offset: 1>>, memref<3x2xf64>, memref<2x3x2x1xf64, strided<[12, 4, 2, 1]>>, memref<3x2xf64>) outs(%invariant.308f88a879f7fc5f : memref<2x3x2x2xf64>)
  }
}

