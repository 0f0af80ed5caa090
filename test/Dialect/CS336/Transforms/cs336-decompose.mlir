// RUN: cs336-opt %s --cs336-decompose --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-decompose | FileCheck %s --check-prefix=LOC
// A second run changes nothing.
// RUN: cs336-opt %s --cs336-decompose -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --cs336-decompose -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir

// CHECK-LABEL: @linear
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<3x8xf32>)
func.func @linear(%x: tensor<2x4x8xf32>, %w: tensor<3x8xf32>) -> tensor<2x4x3xf32> {
  // CHECK-NEXT: %[[Y:.*]] = cs336.matmul %[[X]], %[[W]] {precision = #cs336.precision<tf32>, transpose_b}
  // CHECK-NEXT: return %[[Y]]
  // LOC: cs336.matmul {{.*}} loc(#[[LOC:loc.*]])
  // LOC: #[[LOC]] = loc("layers.3.attn.q_proj")
  %0 = cs336.linear %x, %w {precision = #cs336.precision<tf32>} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32> loc("layers.3.attn.q_proj")
  return %0 : tensor<2x4x3xf32>
}

// CHECK-LABEL: @linear_of_vector
func.func @linear_of_vector(%x: tensor<8xf32>, %w: tensor<3x8xf32>) -> tensor<3xf32> {
  // CHECK: cs336.reshape %{{.*}} : tensor<8xf32> -> tensor<1x8xf32>
  // CHECK: cs336.matmul %{{.*}} : tensor<1x8xf32>, tensor<3x8xf32> -> tensor<1x3xf32>
  // CHECK: cs336.reshape %{{.*}} : tensor<1x3xf32> -> tensor<3xf32>
  %0 = cs336.linear %x, %w : tensor<8xf32>, tensor<3x8xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @silu
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>)
func.func @silu(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK-NEXT: %[[W:.*]] = cs336.cast %[[X]] : tensor<4xbf16> -> tensor<4xf32>
  // CHECK-NEXT: %[[S:.*]] = cs336.sigmoid %[[W]] : tensor<4xf32>
  // CHECK-NEXT: %[[Y:.*]] = cs336.mul %[[W]], %[[S]] : tensor<4xf32>
  // CHECK-NEXT: %[[R:.*]] = cs336.cast %[[Y]] : tensor<4xf32> -> tensor<4xbf16>
  // CHECK-NEXT: return %[[R]]
  %0 = cs336.silu %x : tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// NaN is not less than zero, so it is kept.
// CHECK-LABEL: @relu
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[ZERO:.*]] = cs336.constant dense<0.000000e+00>
  // CHECK-NEXT: %[[P:.*]] = cs336.compare le %[[X]], %[[ZERO]]
  // CHECK-NEXT: cs336.select %[[P]], %[[ZERO]], %[[X]]
  %0 = cs336.relu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @gelu
func.func @gelu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: dense<0.707106769>
  // CHECK: cs336.erf
  // CHECK: dense<4.471500e-02>
  // CHECK: dense<0.797884583>
  // CHECK: cs336.tanh
  %0 = cs336.gelu %x : tensor<4xf32>
  %1 = cs336.gelu %x {tanh} : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// 1 + erf(x) has no digits left in bf16.
// CHECK-LABEL: @gelu_low
func.func @gelu_low(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK-NEXT: cs336.cast %{{.*}} : tensor<4xbf16> -> tensor<4xf32>
  // CHECK: cs336.erf %{{.*}} : tensor<4xf32>
  // CHECK: cs336.cast %{{.*}} : tensor<4xf32> -> tensor<4xbf16>
  %0 = cs336.gelu %x : tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// CHECK-LABEL: @rms_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<8xf32>)
func.func @rms_norm(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>) -> tensor<2x4x8xf32> {
  // CHECK: %[[SQUARE:.*]] = cs336.mul %[[X]], %[[X]]
  // CHECK: %[[SUM:.*]] = cs336.reduce sum %[[SQUARE]] axes = [2]
  // CHECK: %[[MEAN:.*]] = cs336.div %[[SUM]], %{{.*}} : tensor<2x4xf32>
  // CHECK: %[[EPS:.*]] = cs336.add %[[MEAN]]
  // CHECK: %[[R:.*]] = cs336.rsqrt %[[EPS]]
  // CHECK: %[[RB:.*]] = cs336.broadcast %[[R]] dims = [0, 1]
  // CHECK: %[[XR:.*]] = cs336.mul %[[X]], %[[RB]]
  // CHECK: %[[WB:.*]] = cs336.broadcast %[[W]] dims = [2]
  // CHECK: cs336.mul %[[WB]], %[[XR]]
  %0 = cs336.rms_norm %x, %w eps = 1.0e-05 : tensor<2x4x8xf32>, tensor<8xf32>
  return %0 : tensor<2x4x8xf32>
}

// The weight multiplies in float32; the cast to the input's type comes last.
// CHECK-LABEL: @rms_norm_low
func.func @rms_norm_low(%x: tensor<4x8xf16>, %w: tensor<8xf32>) -> tensor<4x8xf16> {
  // CHECK-NEXT: cs336.cast %{{.*}} : tensor<4x8xf16> -> tensor<4x8xf32>
  // CHECK: cs336.rsqrt %{{.*}} : tensor<4xf32>
  // CHECK: %[[W:.*]] = cs336.broadcast %{{.*}} dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %[[Y:.*]] = cs336.mul %[[W]], %{{.*}} : tensor<4x8xf32>
  // CHECK: %[[LOW:.*]] = cs336.cast %[[Y]] : tensor<4x8xf32> -> tensor<4x8xf16>
  // CHECK-NEXT: return %[[LOW]]
  %0 = cs336.rms_norm %x, %w eps = 1.0e-05 : tensor<4x8xf16>, tensor<8xf32>
  return %0 : tensor<4x8xf16>
}

// CHECK-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<4x8xf64>, %w: tensor<8xf64>, %b: tensor<8xf64>) -> tensor<4x8xf64> {
  // CHECK-NOT: cs336.cast
  // CHECK: cs336.reduce sum
  // CHECK: cs336.sub
  // CHECK: cs336.reduce sum
  // CHECK: cs336.rsqrt
  // CHECK: %[[WEIGHT:.*]] = cs336.broadcast %{{.*}} dims = [1] : tensor<8xf64> -> tensor<4x8xf64>
  // CHECK-NEXT: %[[WEIGHTED:.*]] = cs336.mul %{{.*}}, %[[WEIGHT]]
  // CHECK-NEXT: %[[BIAS:.*]] = cs336.broadcast %{{.*}} dims = [1] : tensor<8xf64> -> tensor<4x8xf64>
  // CHECK-NEXT: cs336.add %[[WEIGHTED]], %[[BIAS]]
  %0 = cs336.layer_norm %x, %w, %b eps = 1.0e-05 : tensor<4x8xf64>, tensor<8xf64>
  return %0 : tensor<4x8xf64>
}

// Angles are float64 whatever the input is; pairs are interleaved.
// CHECK-LABEL: @rope
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>)
func.func @rope(%x: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  // CHECK: cs336.pow %{{.*}}, %{{.*}} : tensor<5x4xf64>
  // CHECK: cs336.reshape %[[X]] : tensor<2x5x8xf32> -> tensor<2x5x4x2xf32>
  // CHECK: cs336.slice %{{.*}} offsets = [0, 0, 0, 0] : tensor<2x5x4x2xf32> -> tensor<2x5x4x1xf32>
  // CHECK: cs336.slice %{{.*}} offsets = [0, 0, 0, 1] : tensor<2x5x4x2xf32> -> tensor<2x5x4x1xf32>
  // CHECK: %[[COS:.*]] = cs336.cos %{{.*}} : tensor<5x4xf64>
  // CHECK: cs336.cast %[[COS]] : tensor<5x4xf64> -> tensor<5x4xf32>
  // CHECK: %[[SIN:.*]] = cs336.sin %{{.*}} : tensor<5x4xf64>
  // CHECK: cs336.cast %[[SIN]] : tensor<5x4xf64> -> tensor<5x4xf32>
  // CHECK: cs336.sub
  // CHECK: cs336.add
  // CHECK: cs336.concat axis = 3
  // CHECK: cs336.reshape %{{.*}} : tensor<2x5x4x2xf32> -> tensor<2x5x8xf32>
  %0 = cs336.rope %x theta = 1.0e+04 : tensor<2x5x8xf32>
  return %0 : tensor<2x5x8xf32>
}

// bf16 would round a sine to three digits.
// CHECK-LABEL: @rope_low
func.func @rope_low(%x: tensor<5x8xbf16>) -> tensor<5x8xbf16> {
  // CHECK: cs336.cast %{{.*}} : tensor<5x8xbf16> -> tensor<5x8xf32>
  // CHECK: cs336.cast %{{.*}} : tensor<5x8xf32> -> tensor<5x8xbf16>
  %0 = cs336.rope %x theta = 1.0e+04 : tensor<5x8xbf16>
  return %0 : tensor<5x8xbf16>
}

// CHECK-LABEL: @cross_entropy
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x9xf32>, %[[T:.*]]: tensor<2x4xi64>)
func.func @cross_entropy(%x: tensor<2x4x9xf32>, %t: tensor<2x4xi64>) -> tensor<f32> {
  // CHECK: %[[MAX:.*]] = cs336.reduce max %[[X]] axes = [2] {stop_gradient}
  // CHECK: %[[MAXB:.*]] = cs336.broadcast %[[MAX]]
  // CHECK: %[[Z:.*]] = cs336.sub %[[X]], %[[MAXB]]
  // CHECK: %[[E:.*]] = cs336.exp %[[Z]]
  // CHECK: %[[SUM:.*]] = cs336.reduce sum %[[E]] axes = [2]
  // CHECK: %[[LOG:.*]] = cs336.log %[[SUM]]
  // CHECK: %[[TB:.*]] = cs336.broadcast %[[T]] dims = [0, 1]
  // CHECK: %[[CLASS:.*]] = cs336.iota axis = 2
  // CHECK: %[[IS:.*]] = cs336.compare eq %[[CLASS]], %[[TB]]
  // CHECK: %[[SEL:.*]] = cs336.select %[[IS]], %[[Z]]
  // CHECK: %[[PICKED:.*]] = cs336.reduce sum %[[SEL]] axes = [2]
  // CHECK: %[[NLL:.*]] = cs336.sub %[[LOG]], %[[PICKED]]
  // CHECK: %[[TOTAL:.*]] = cs336.reduce sum %[[NLL]] axes = [0, 1]
  // CHECK: %[[COUNT:.*]] = cs336.constant dense<8.000000e+00> : tensor<f32>
  // CHECK: cs336.div %[[TOTAL]], %[[COUNT]]
  %0 = cs336.cross_entropy %x, %t : tensor<2x4x9xf32>, tensor<2x4xi64> -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @cross_entropy_low
func.func @cross_entropy_low(%x: tensor<9xbf16>, %t: tensor<i64>) -> tensor<f32> {
  // CHECK-NEXT: cs336.cast %{{.*}} : tensor<9xbf16> -> tensor<9xf32>
  // CHECK-NOT: bf16
  // CHECK: return %{{.*}} : tensor<f32>
  %0 = cs336.cross_entropy %x, %t : tensor<9xbf16>, tensor<i64> -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @primitives
func.func @primitives(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: cs336.exp
  // CHECK-NEXT: return
  %0 = cs336.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @chain
func.func @chain(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  // CHECK: cs336.matmul
  // CHECK: cs336.sigmoid
  // CHECK: cs336.matmul
  // CHECK-NOT: cs336.silu
  %0 = cs336.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = cs336.silu %0 : tensor<4x8xf32>
  %2 = cs336.linear %1, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
