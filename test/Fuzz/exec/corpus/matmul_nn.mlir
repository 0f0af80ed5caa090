module {
  exec.variable @matmul_nn.p0 parameter : memref<3x4xf64>
  exec.variable @matmul_nn.p1 parameter : memref<4x5xf64>
  exec.kernel @mul_reduce_90dc(%arg0: tensor<3x5xf64>) : (memref<3x5xf64>) -> memref<f64> {
    %0 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194, 0.28366218546322625], [0.96017028665036596, 0.7539022543433046, -0.14550003380861354, -0.91113026188467694, -0.83907152907645244], [0.0044256979880507854, 0.84385395873249214, 0.90744678145019619, 0.13673721820783361, -0.75968791285882131]]> : tensor<3x5xf64>
    %1 = cs336.mul %arg0, %0 : tensor<3x5xf64>
    %2 = cs336.reduce sum %1 axes = [0, 1] : tensor<3x5xf64> -> tensor<f64>
    exec.yield %2 : tensor<f64>
  }
  exec.kernel @constant_027c() : () -> memref<3x5xf64> {
    %0 = cs336.constant dense<[[0.54030230586813977, -0.41614683654714241, -0.98999249660044542, -0.65364362086361194, 0.28366218546322625], [0.96017028665036596, 0.7539022543433046, -0.14550003380861354, -0.91113026188467694, -0.83907152907645244], [0.0044256979880507854, 0.84385395873249214, 0.90744678145019619, 0.13673721820783361, -0.75968791285882131]]> : tensor<3x5xf64>
    exec.yield %0 : tensor<3x5xf64>
  }
  exec.entry @matmul_nn mode<forward_backward> arena_bytes = 640 alignment = 64 {
    %matmul_nn.p0 = exec.get @matmul_nn.p0 : memref<3x4xf64>
    %matmul_nn.p1 = exec.get @matmul_nn.p1 : memref<4x5xf64>
    %y = exec.output "y" output offset = 192 : memref<3x5xf64>
    %loss = exec.output "loss" output offset = 576 : memref<f64>
    %matmul_nn.p0_0 = exec.output "matmul_nn.p0" gradient offset = 448 : memref<3x4xf64>
    %matmul_nn.p1_1 = exec.output "matmul_nn.p1" gradient offset = 0 : memref<4x5xf64>
    exec.gemm ins(%matmul_nn.p0, %matmul_nn.p1 : memref<3x4xf64>, memref<4x5xf64>) outs(%y : memref<3x5xf64>)
    exec.launch @mul_reduce_90dc ins(%y : memref<3x5xf64>) outs(%loss : memref<f64>)
    %0 = exec.alloc offset = 320 : memref<3x5xf64>
    exec.launch @constant_027c outs(%0 : memref<3x5xf64>)
    %1 = exec.view %matmul_nn.p1 : memref<4x5xf64> to memref<5x4xf64, strided<[1, 5]>>
    exec.gemm ins(%0, %1 : memref<3x5xf64>, memref<5x4xf64, strided<[1, 5]>>) outs(%matmul_nn.p0_0 : memref<3x4xf64>)
    %2 = exec.view %matmul_nn.p0 : memref<3x4xf64> to memref<4x3xf64, strided<[1, 4]>>
    exec.gemm ins(%2, %0 : memref<4x3xf64, strided<[1, 4]>>, memref<3x5xf64>) outs(%matmul_nn.p1_1 : memref<4x5xf64>)
  }
}

