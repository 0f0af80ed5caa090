// RUN: cs336-opt %s --split-input-file --cs336-merge-gemms --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --split-input-file --cs336-merge-gemms | FileCheck %s --check-prefix=LOC
// RUN: cs336-opt %s --split-input-file --cs336-merge-gemms -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --split-input-file --cs336-merge-gemms -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir
// RUN: cs336-opt %s --split-input-file --cs336-merge-gemms --remarks-filter=cs336-merge-gemms --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// All functions pack the parameters that they share alike; the packed one takes the place of the first.
// REMARK: layers.0.attn.q_proj{{.*}}3 linears share 'layers.0.attn.qkv_proj.weight'
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[X:.*]]: tensor<2x4x8xf32> {{{.*}}cs336.name = "x"},
// CHECK-SAME: %[[W:.*]]: tensor<20x8xf32> {cs336.init = #cs336.init<truncated_normal, std = 3.000000e-01, cut = 3.000000e+00>, cs336.kind = "parameter", cs336.name = "layers.0.attn.qkv_proj.weight", cs336.views = [#cs336.view<"layers.0.attn.q_proj.weight", 8>, #cs336.view<"layers.0.attn.k_proj.weight", 8>, #cs336.view<"layers.0.attn.v_proj.weight", 4>]}
// CHECK-SAME: %[[O:.*]]: tensor<8x4xf32> {{{.*}}output_proj
// LOC-LABEL: func.func @loss(
func.func @loss(%x: tensor<2x4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %q: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "layers.0.attn.q_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.3, cut = 3.0>},
    %k: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "layers.0.attn.k_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.3, cut = 3.0>},
    %v: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "layers.0.attn.v_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.3, cut = 3.0>},
    %o: tensor<8x4xf32> {cs336.kind = "parameter", cs336.name = "layers.0.attn.output_proj.weight"})
    -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) attributes {cs336.mode = #cs336.mode<loss>} {
  // CHECK-NEXT: %[[QKV:.*]] = cs336.linear %[[X]], %[[W]] : tensor<2x4x8xf32>, tensor<20x8xf32> -> tensor<2x4x20xf32>
  // CHECK-NEXT: %[[Q:.*]] = cs336.slice %[[QKV]] offsets = [0, 0, 0] : tensor<2x4x20xf32> -> tensor<2x4x8xf32>
  // CHECK-NEXT: %[[K:.*]] = cs336.slice %[[QKV]] offsets = [0, 0, 8] : tensor<2x4x20xf32> -> tensor<2x4x8xf32>
  // CHECK-NEXT: %[[V:.*]] = cs336.slice %[[QKV]] offsets = [0, 0, 16] : tensor<2x4x20xf32> -> tensor<2x4x4xf32>
  // CHECK-NEXT: %[[OUT:.*]] = cs336.linear %[[V]], %[[O]]
  // CHECK-NEXT: return %[[Q]], %[[K]], %[[OUT]]
  // LOC: cs336.linear {{.*}} loc(#[[QKV:loc.*]])
  // LOC: cs336.slice {{.*}} loc(#[[Q:loc.*]])
  %0 = cs336.linear %x, %q : tensor<2x4x8xf32>, tensor<8x8xf32> -> tensor<2x4x8xf32> loc("layers.0.attn.q_proj")
  // The order of the weights counts, not that of the operations.
  %2 = cs336.linear %x, %v : tensor<2x4x8xf32>, tensor<4x8xf32> -> tensor<2x4x4xf32> loc("layers.0.attn.v_proj")
  %1 = cs336.linear %x, %k : tensor<2x4x8xf32>, tensor<8x8xf32> -> tensor<2x4x8xf32> loc("layers.0.attn.k_proj")
  %3 = cs336.linear %2, %o : tensor<2x4x4xf32>, tensor<8x4xf32> -> tensor<2x4x8xf32> loc("layers.0.attn.output_proj")
  return %0, %1, %3 : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>
}
// LOC-DAG: #[[QKV]] = loc("layers.0.attn.qkv_proj")
// LOC-DAG: #[[Q]] = loc("layers.0.attn.q_proj")

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: cs336.name = "layers.0.attn.qkv_proj.weight", cs336.views
func.func @forward(
    %q: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "layers.0.attn.q_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.3, cut = 3.0>},
    %k: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "layers.0.attn.k_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.3, cut = 3.0>},
    %v: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "layers.0.attn.v_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.3, cut = 3.0>},
    %x: tensor<1x8xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x4xf32>) attributes {cs336.mode = #cs336.mode<forward>} {
  %0 = cs336.linear %x, %q : tensor<1x8xf32>, tensor<8x8xf32> -> tensor<1x8xf32>
  %1 = cs336.linear %x, %k : tensor<1x8xf32>, tensor<8x8xf32> -> tensor<1x8xf32>
  %2 = cs336.linear %x, %v : tensor<1x8xf32>, tensor<4x8xf32> -> tensor<1x4xf32>
  return %0, %1, %2 : tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x4xf32>
}

// -----

// Weights that autocast reads through casts are cast once, packed. Words are joined by underscores.
// CHECK-LABEL: func.func @cast(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<16x8xf32> {{{.*}}cs336.name = "block.gate_up.weight"
func.func @cast(%x: tensor<4x8xbf16>,
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "block.gate.weight"},
    %w3: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "block.up.weight"}) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  // CHECK-NEXT: %[[LOW:.*]] = cs336.cast %[[W]] : tensor<16x8xf32> -> tensor<16x8xbf16>
  // CHECK-NEXT: cs336.linear %{{.*}}, %[[LOW]] {precision = #cs336.precision<tf32x3>}
  // CHECK-NEXT: cs336.slice
  // CHECK-NEXT: cs336.slice
  // CHECK-NEXT: return
  %a = cs336.cast %w1 : tensor<8x8xf32> -> tensor<8x8xbf16>
  %0 = cs336.linear %x, %a {precision = #cs336.precision<tf32x3>} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
  %b = cs336.cast %w3 : tensor<8x8xf32> -> tensor<8x8xbf16>
  %1 = cs336.linear %x, %b {precision = #cs336.precision<tf32x3>} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
  return %0, %1 : tensor<4x8xbf16>, tensor<4x8xbf16>
}

// -----

// Views of what is packed already are kept; two groups of one function keep their places.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME: %{{.*}}: tensor<6x8xf32> {{{.*}}cs336.name = "a.w12_w3.weight", cs336.views = [#cs336.view<"a.w1.weight", 2>, #cs336.view<"a.w2.weight", 2>, #cs336.view<"a.w3.weight", 2>]}
// CHECK-SAME: %{{.*}}: tensor<8xf32> {{{.*}}cs336.name = "ln"
// CHECK-SAME: %{{.*}}: tensor<4x8xf32> {{{.*}}cs336.name = "b.w13.weight"
func.func @packed(
    %w12: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "a.w12.weight", cs336.views = [#cs336.view<"a.w1.weight", 2>, #cs336.view<"a.w2.weight", 2>]},
    %w3: tensor<2x8xf32> {cs336.kind = "parameter", cs336.name = "a.w3.weight"},
    %ln: tensor<8xf32> {cs336.kind = "parameter", cs336.name = "ln"},
    %b1: tensor<2x8xf32> {cs336.kind = "parameter", cs336.name = "b.w1.weight"},
    %b3: tensor<2x8xf32> {cs336.kind = "parameter", cs336.name = "b.w3.weight"},
    %x: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = cs336.linear %x, %w12 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
  %1 = cs336.linear %x, %w3 : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<4x2xf32>
  %n = cs336.rms_norm %x, %ln eps = 1.0e-05 : tensor<4x8xf32>, tensor<8xf32>
  %2 = cs336.linear %n, %b1 : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<4x2xf32>
  %3 = cs336.linear %n, %b3 : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<4x2xf32>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}
