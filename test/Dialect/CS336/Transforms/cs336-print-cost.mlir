// RUN: cs336-opt %s --cs336-print-cost -o %t.mlir 2>&1 | FileCheck %s
// The program does not change.
// RUN: cs336-opt %s -o %t.same.mlir
// RUN: diff %t.mlir %t.same.mlir

// CHECK-LABEL: @train (train)
// CHECK-NEXT: phase operation count FLOPs bytes
// 2·M·N·K = 2·4·16·8, of f32 operands and result: 4·(4·8 + 8·16 + 4·16).
// CHECK-NEXT: forward cs336.matmul 1 1024 896
// CHECK-NEXT: backward cs336.exp 2 128 1024
// CHECK-NEXT: optimizer cs336.add 1 64 768
// CHECK-NEXT: forward total 1 1024 896
// CHECK-NEXT: backward total 2 128 1024
// CHECK-NEXT: optimizer total 1 64 768
// CHECK-NEXT: all total 4 1216 2688
func.func @train(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {cs336.mode = #cs336.mode<train>} {
  %0 = cs336.matmul %a, %b : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32> loc("layers.0.attn.q_proj")
  %1 = cs336.exp %0 : tensor<4x16xf32> loc("backward"("layers.0.exp"))
  %2 = cs336.exp %1 : tensor<4x16xf32> loc("backward"("layers.0.exp"))
  %3 = cs336.add %2, %0 : tensor<4x16xf32> loc("optimizer"("w"))
  return %3 : tensor<4x16xf32>
}

// CHECK-LABEL: @exchange (train)
// CHECK-NEXT: {{^}}  phase         operation             count
// CHECK-NEXT: {{^}}  forward       cs336.exp
// CHECK-NEXT: {{^}}  communication cs336.collective
// CHECK-NEXT: {{^}}  optimizer     cs336.add
// CHECK-NEXT: {{^}}  forward       total
// CHECK-NEXT: {{^}}  communication total
// CHECK-NEXT: {{^}}  optimizer     total
// CHECK-NEXT: {{^}}  all           total
// CHECK-NEXT: 256 bytes sent by each rank
func.func @exchange(%x: tensor<64xf32>) -> tensor<64xf32> attributes {cs336.mode = #cs336.mode<train>} {
  %0 = cs336.exp %x : tensor<64xf32> loc("layers.0.exp")
  %1 = cs336.collective all_reduce mean(%0) group = 2 : (tensor<64xf32>) -> tensor<64xf32> loc("communication"("backward"("w")))
  %2 = cs336.add %1, %x : tensor<64xf32> loc("optimizer"("w"))
  return %2 : tensor<64xf32>
}

// FLOPs of a group's operations are added; only its operands and results count as bytes.
// CHECK-LABEL: @group{{$}}
// CHECK-NEXT: phase operation count FLOPs bytes
// CHECK-NEXT: forward cs336.fused 1 12 24
// CHECK-NEXT: forward total 1 12 24
// CHECK-NEXT: 1 operations without a cost
// CHECK-NOT: all
func.func @group(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = cs336.fused(%x, %y) {
  ^bb0(%a: tensor<4xbf16>, %b: tensor<4xbf16>):
    %e = cs336.exp %a : tensor<4xbf16>
    %f = cs336.exp %e : tensor<4xbf16>
    %m = cs336.mul %f, %b : tensor<4xbf16>
    cs336.yield %m : tensor<4xbf16>
  } : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  %c = arith.constant 1 : i64
  return %0 : tensor<4xbf16>
}

// Two matmuls of 32·16·8 multiply-adds a head forward, five backward, and half of that where a mask hides half.
// CHECK-LABEL: @attention{{$}}
// CHECK: cs336.attention 1 65536 10752
// CHECK: cs336.attention_backward 1 81920
func.func @attention(%q: tensor<1x32x4x8xf32>, %k: tensor<1x16x2x8xf32>) {
  %o, %lse = cs336.attention %q, %k, %k {scale = 1.0 : f64} : tensor<1x32x4x8xf32>, tensor<1x16x2x8xf32> -> tensor<1x4x32xf32>
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %k, %o, %lse, %o {scale = 1.0 : f64, causal}
      : tensor<1x32x4x8xf32>, tensor<1x16x2x8xf32>, tensor<1x4x32xf32>
  return
}

// With a score function, the pairs count that it can show: 16·3 − 3 with a window of 3 keys, of 4·8 + 3 FLOPs forward.
// CHECK-LABEL: @window{{$}}
// CHECK: cs336.attention 1 1575 2112
func.func @window(%q: tensor<1x16x1x8xf32>) {
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64, causal} : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32> -> tensor<1x1x16xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %distance = cs336.sub %i, %j : tensor<i32>
    %last = cs336.constant dense<2> : tensor<i32>
    %near = cs336.compare le %distance, %last : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %near, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  return
}

// Ring algorithms send 2·256·3/4 bytes for an all-reduce of 256 bytes, and 32·3/4 for an all-gather of 32 bytes.
// CHECK-LABEL: @collectives{{$}}
// CHECK-NEXT: phase operation count FLOPs bytes
// CHECK-NEXT: forward cs336.collective 2 192 552
// CHECK-NEXT: forward total 2 192 552
// CHECK-NEXT: 408 bytes sent by each rank
func.func @collectives(%x: tensor<64xf32>, %y: tensor<4xbf16>) -> (tensor<64xf32>, tensor<16xbf16>) {
  %0 = cs336.collective all_reduce sum(%x) group = 4 : (tensor<64xf32>) -> tensor<64xf32>
  %1 = cs336.collective all_gather(%y) group = 4 : (tensor<4xbf16>) -> tensor<16xbf16>
  return %0, %1 : tensor<64xf32>, tensor<16xbf16>
}
