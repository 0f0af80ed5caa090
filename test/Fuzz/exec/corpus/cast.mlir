module {
  exec.variable @cast.p0 parameter : memref<3x4xf64>
  exec.variable @shadow.f32.cast.p0 derived : memref<3x4xf32>
  exec.kernel @cast_mul_reduce_4152(%arg0: tensor<3x4xf32>) : (memref<3x4xf32>) -> memref<f64> {
    %0 = cs336.cast %arg0 : tensor<3x4xf32> -> tensor<3x4xf64>
    %1 = cs336.constant dense<[[2.5403023058681398, 1.5838531634528576, 1.0100075033995546, 1.3463563791363882], [2.2836621854632262, 2.9601702866503659, 2.7539022543433047, 1.8544999661913866], [1.0888697381153229, 1.1609284709235475, 2.0044256979880508, 2.8438539587324922]]> : tensor<3x4xf64>
    %2 = cs336.mul %0, %1 : tensor<3x4xf64>
    %3 = cs336.reduce sum %2 axes = [0, 1] : tensor<3x4xf64> -> tensor<f64>
    exec.yield %3 : tensor<f64>
  }
  exec.kernel @cast_1ebc() : () -> memref<3x4xf32> {
    %0 = cs336.constant dense<[[2.5403023058681398, 1.5838531634528576, 1.0100075033995546, 1.3463563791363882], [2.2836621854632262, 2.9601702866503659, 2.7539022543433047, 1.8544999661913866], [1.0888697381153229, 1.1609284709235475, 2.0044256979880508, 2.8438539587324922]]> : tensor<3x4xf64>
    %1 = cs336.cast %0 : tensor<3x4xf64> -> tensor<3x4xf32>
    exec.yield %1 : tensor<3x4xf32>
  }
  exec.kernel @cast_849f(%arg0: tensor<3x4xf32>) : (memref<3x4xf32>) -> memref<3x4xf64> {
    %0 = cs336.cast %arg0 : tensor<3x4xf32> -> tensor<3x4xf64>
    exec.yield %0 : tensor<3x4xf64>
  }
  exec.kernel @cast_e0c2(%arg0: tensor<3x4xf64>) : (memref<3x4xf64>) -> memref<3x4xf32> {
    %0 = cs336.cast %arg0 : tensor<3x4xf64> -> tensor<3x4xf32>
    exec.yield %0 : tensor<3x4xf32>
  }
  exec.entry @cast mode<forward_backward> arena_bytes = 256 alignment = 64 {
    %shadow.f32.cast.p0 = exec.get @shadow.f32.cast.p0 : memref<3x4xf32>
    %y = exec.output "y" output offset = 192 : memref<3x4xf32>
    %loss = exec.output "loss" output offset = 128 : memref<f64>
    %cast.p0 = exec.output "cast.p0" gradient offset = 0 : memref<3x4xf64>
    exec.launch @cast_mul_reduce_4152 ins(%shadow.f32.cast.p0 : memref<3x4xf32>) outs(%loss : memref<f64>)
    %0 = exec.alloc offset = 192 : memref<3x4xf32>
    exec.launch @cast_1ebc outs(%0 : memref<3x4xf32>)
    exec.launch @cast_849f ins(%0 : memref<3x4xf32>) outs(%cast.p0 : memref<3x4xf64>)
    exec.copy ins(%shadow.f32.cast.p0 : memref<3x4xf32>) outs(%y : memref<3x4xf32>)
  }
  exec.entry @prepare mode<prepare> arena_bytes = 0 alignment = 64 {
    %cast.p0 = exec.get @cast.p0 : memref<3x4xf64>
    %shadow.f32.cast.p0 = exec.get @shadow.f32.cast.p0 : memref<3x4xf32>
    exec.launch @cast_e0c2 ins(%cast.p0 : memref<3x4xf64>) outs(%shadow.f32.cast.p0 : memref<3x4xf32>)
  }
}

