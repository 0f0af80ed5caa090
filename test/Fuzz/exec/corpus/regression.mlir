module {
  exec.variable @table parameter : memref<5x3xf32> {init = #cs336.init<truncated_normal, std = 1.000000e+00, cut = 3.000000e+00>}
  exec.variable @w parameter : memref<2x3xf32> {init = #cs336.init<ones>}
  exec.variable @adamw.step state : memref<i64> {init = #cs336.init<zeros>}
  exec.variable @adamw.m.table state : memref<5x3xf32> {init = #cs336.init<zeros>}
  exec.variable @adamw.v.table state : memref<5x3xf32> {init = #cs336.init<zeros>}
  exec.variable @adamw.m.w state : memref<2x3xf32> {init = #cs336.init<zeros>}
  exec.variable @adamw.v.w state : memref<2x3xf32> {init = #cs336.init<zeros>}
  exec.kernel @embedding_0551(%arg0: tensor<5x3xf32>, %arg1: tensor<4xi64>) : (memref<5x3xf32>, memref<4xi64>) -> memref<4x3xf32> {
    %0 = cs336.embedding %arg0, %arg1 : tensor<5x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
    exec.yield %0 : tensor<4x3xf32>
  }
  exec.kernel @sub_add_85ea(%arg0: tensor<4x2xf32>, %arg1: tensor<4x2xf32>) : (memref<4x2xf32>, memref<4x2xf32>) -> (memref<4x2xf32>, memref<4x2xf32>) {
    %0 = cs336.sub %arg0, %arg1 : tensor<4x2xf32>
    %1 = cs336.add %0, %0 : tensor<4x2xf32>
    exec.yield %0, %1 : tensor<4x2xf32>, tensor<4x2xf32>
  }
  exec.kernel @mul_reduce_2827(%arg0: tensor<4x2xf32>) : (memref<4x2xf32>) -> memref<f32> {
    %0 = cs336.mul %arg0, %arg0 : tensor<4x2xf32>
    %1 = cs336.reduce sum %0 axes = [0, 1] : tensor<4x2xf32> -> tensor<f32>
    exec.yield %1 : tensor<f32>
  }
  exec.kernel @embedding_grad_0685(%arg0: tensor<4xi64>, %arg1: tensor<4x3xf32>) : (memref<4xi64>, memref<4x3xf32>) -> memref<5x3xf32> {
    %0 = cs336.embedding_grad %arg0, %arg1 : tensor<4xi64>, tensor<4x3xf32> -> tensor<5x3xf32>
    exec.yield %0 : tensor<5x3xf32>
  }
  exec.kernel @add_cast_pow_sub_4ec1(%arg0: tensor<i64>) : (memref<i64>) -> (memref<i64>, memref<f32>, memref<f32>) {
    %0 = cs336.constant dense<1> : tensor<i64>
    %1 = cs336.add %arg0, %0 : tensor<i64>
    %2 = cs336.cast %1 : tensor<i64> -> tensor<f64>
    %3 = cs336.constant dense<9.000000e-01> : tensor<f64>
    %4 = cs336.pow %3, %2 : tensor<f64>
    %5 = cs336.constant dense<1.000000e+00> : tensor<f64>
    %6 = cs336.sub %5, %4 : tensor<f64>
    %7 = cs336.constant dense<0.99899999999999999> : tensor<f64>
    %8 = cs336.pow %7, %2 : tensor<f64>
    %9 = cs336.sub %5, %8 : tensor<f64>
    %10 = cs336.cast %6 : tensor<f64> -> tensor<f32>
    %11 = cs336.cast %9 : tensor<f64> -> tensor<f32>
    exec.yield %1, %10, %11 : tensor<i64>, tensor<f32>, tensor<f32>
  }
  exec.kernel @adamw_415b(%arg0: tensor<5x3xf32>, %arg1: tensor<5x3xf32>, %arg2: tensor<5x3xf32>, %arg3: tensor<5x3xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>) : (memref<5x3xf32>, memref<5x3xf32>, memref<5x3xf32>, memref<5x3xf32>, memref<f32>, memref<f32>) -> (memref<5x3xf32>, memref<5x3xf32>, memref<5x3xf32>) {
    %0 = cs336.constant dense<1.000000e-01> : tensor<f32>
    %1 = cs336.constant dense<1.000000e+00> : tensor<f32>
    %2 = cs336.constant dense<true> : tensor<i1>
    %newParameter, %newM, %newV = cs336.adamw %arg0, %arg1, %arg2, %arg3 lr = %0, correction1 = %arg4, correction2 = %arg5, scale = %1, apply = %2 {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-02 : f64} : tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<f32>
    exec.yield %newParameter, %newM, %newV : tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>
  }
  exec.kernel @adamw_d5b6(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<2x3xf32>, %arg3: tensor<2x3xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>) : (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<f32>, memref<f32>) -> (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>) {
    %0 = cs336.constant dense<1.000000e-01> : tensor<f32>
    %1 = cs336.constant dense<1.000000e+00> : tensor<f32>
    %2 = cs336.constant dense<true> : tensor<i1>
    %newParameter, %newM, %newV = cs336.adamw %arg0, %arg1, %arg2, %arg3 lr = %0, correction1 = %arg4, correction2 = %arg5, scale = %1, apply = %2 {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-02 : f64} : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>
    exec.yield %newParameter, %newM, %newV : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  }
  exec.entry @train mode<train> arena_bytes = 320 alignment = 64 {
    %table = exec.get @table : memref<5x3xf32>
    %w = exec.get @w : memref<2x3xf32>
    %ids = exec.input "ids" bound = 5 : memref<4xi64>
    %targets = exec.input "targets" : memref<4x2xf32>
    %adamw.step = exec.get @adamw.step : memref<i64>
    %adamw.m.table = exec.get @adamw.m.table : memref<5x3xf32>
    %adamw.v.table = exec.get @adamw.v.table : memref<5x3xf32>
    %adamw.m.w = exec.get @adamw.m.w : memref<2x3xf32>
    %adamw.v.w = exec.get @adamw.v.w : memref<2x3xf32>
    %loss = exec.output "loss" output offset = 192 : memref<f32>
    %rows = exec.alloc offset = 0 : memref<4x3xf32>
    exec.launch @embedding_0551 ins(%table, %ids : memref<5x3xf32>, memref<4xi64>) outs(%rows : memref<4x3xf32>)
    %product = exec.alloc offset = 64 : memref<4x2xf32>
    %product_0 = exec.view %w : memref<2x3xf32> to memref<3x2xf32, strided<[1, 3]>>
    exec.gemm ins(%rows, %product_0 : memref<4x3xf32>, memref<3x2xf32, strided<[1, 3]>>) outs(%product : memref<4x2xf32>)
    %error = exec.alloc offset = 128 : memref<4x2xf32>
    exec.launch @sub_add_85ea ins(%product, %targets : memref<4x2xf32>, memref<4x2xf32>) outs(%product, %error : memref<4x2xf32>, memref<4x2xf32>)
    exec.launch @mul_reduce_2827 ins(%product : memref<4x2xf32>) outs(%loss : memref<f32>)
    %product_1 = exec.alloc offset = 64 : memref<4x3xf32>
    exec.gemm ins(%error, %w : memref<4x2xf32>, memref<2x3xf32>) outs(%product_1 : memref<4x3xf32>)
    %product_2 = exec.alloc offset = 256 : memref<2x3xf32>
    %product_3 = exec.view %error : memref<4x2xf32> to memref<2x4xf32, strided<[1, 2]>>
    exec.gemm ins(%product_3, %rows : memref<2x4xf32, strided<[1, 2]>>, memref<4x3xf32>) outs(%product_2 : memref<2x3xf32>)
    %rows_4 = exec.alloc offset = 0 : memref<5x3xf32>
    exec.launch @embedding_grad_0685 ins(%ids, %product_1 : memref<4xi64>, memref<4x3xf32>) outs(%rows_4 : memref<5x3xf32>)
    %adamw = exec.alloc offset = 64 : memref<f32>
    %adamw_5 = exec.alloc offset = 128 : memref<f32>
    exec.launch @add_cast_pow_sub_4ec1 ins(%adamw.step : memref<i64>) outs(%adamw.step, %adamw, %adamw_5 : memref<i64>, memref<f32>, memref<f32>)
    exec.launch @adamw_415b ins(%table, %rows_4, %adamw.m.table, %adamw.v.table, %adamw, %adamw_5 : memref<5x3xf32>, memref<5x3xf32>, memref<5x3xf32>, memref<5x3xf32>, memref<f32>, memref<f32>) outs(%table, %adamw.m.table, %adamw.v.table : memref<5x3xf32>, memref<5x3xf32>, memref<5x3xf32>)
    exec.launch @adamw_d5b6 ins(%w, %product_2, %adamw.m.w, %adamw.v.w, %adamw, %adamw_5 : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<f32>, memref<f32>) outs(%w, %adamw.m.w, %adamw.v.w : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>)
  }
  exec.entry @forward mode<forward> arena_bytes = 128 alignment = 64 {
    %table = exec.get @table : memref<5x3xf32>
    %w = exec.get @w : memref<2x3xf32>
    %ids = exec.input "ids" bound = 5 : memref<4xi64>
    %y = exec.output "y" output offset = 64 : memref<4x2xf32>
    %rows = exec.alloc offset = 0 : memref<4x3xf32>
    exec.launch @embedding_0551 ins(%table, %ids : memref<5x3xf32>, memref<4xi64>) outs(%rows : memref<4x3xf32>)
    %product = exec.view %w : memref<2x3xf32> to memref<3x2xf32, strided<[1, 3]>>
    exec.gemm ins(%rows, %product : memref<4x3xf32>, memref<3x2xf32, strided<[1, 3]>>) outs(%y : memref<4x2xf32>)
  }
}

