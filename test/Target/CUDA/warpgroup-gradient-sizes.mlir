// The gradient in one pass for sizes that need other numbers of registers; nvrtc-gradients.mlir compiles them.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s
// CHECK: WarpgroupGradientSums<least_problem, {{.*}}, 4, 2, 3, true>;
// CHECK: WarpgroupGradientSums<middle_shared_problem, {{.*}}, 2, 1, 3, false>;
// CHECK: WarpgroupGradientSums<more_than_middle_problem, {{.*}}, 2, 1, 3, false>;

module attributes {exec.architectures = ["sm_90a"]} {
exec.kernel @least(%q: tensor<1x1024x8x40xbf16>, %k: tensor<1x1024x8x40xbf16>, %v: tensor<1x1024x8x40xbf16>, %o: tensor<1x1024x8x40xbf16>, %l: tensor<1x8x1024xf32>, %do: tensor<1x1024x8x40xbf16>)
    : (memref<1x1024x8x40xbf16>, memref<1x1024x8x40xbf16>, memref<1x1024x8x40xbf16>, memref<1x1024x8x40xbf16>, memref<1x8x1024xf32>, memref<1x1024x8x40xbf16>) -> (memref<1x1024x8x40xbf16>, memref<1x1024x8x40xbf16>, memref<1x1024x8x40xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal} : tensor<1x1024x8x40xbf16>, tensor<1x1024x8x40xbf16>, tensor<1x8x1024xf32>
  exec.yield %dq, %dk, %dv : tensor<1x1024x8x40xbf16>, tensor<1x1024x8x40xbf16>, tensor<1x1024x8x40xbf16>
}

exec.kernel @narrow_shared(%q: tensor<1x1100x8x64xf16>, %k: tensor<1x1100x2x64xf16>, %v: tensor<1x1100x2x64xf16>, %o: tensor<1x1100x8x64xf16>, %l: tensor<1x8x1100xf32>, %do: tensor<1x1100x8x64xf16>)
    : (memref<1x1100x8x64xf16>, memref<1x1100x2x64xf16>, memref<1x1100x2x64xf16>, memref<1x1100x8x64xf16>, memref<1x8x1100xf32>, memref<1x1100x8x64xf16>) -> (memref<1x1100x8x64xf16>, memref<1x1100x2x64xf16>, memref<1x1100x2x64xf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal} : tensor<1x1100x8x64xf16>, tensor<1x1100x2x64xf16>, tensor<1x8x1100xf32>
  exec.yield %dq, %dk, %dv : tensor<1x1100x8x64xf16>, tensor<1x1100x2x64xf16>, tensor<1x1100x2x64xf16>
}

exec.kernel @middle(%q: tensor<1x1024x8x80xbf16>, %k: tensor<1x1024x8x80xbf16>, %v: tensor<1x1024x8x80xbf16>, %o: tensor<1x1024x8x80xbf16>, %l: tensor<1x8x1024xf32>, %do: tensor<1x1024x8x80xbf16>)
    : (memref<1x1024x8x80xbf16>, memref<1x1024x8x80xbf16>, memref<1x1024x8x80xbf16>, memref<1x1024x8x80xbf16>, memref<1x8x1024xf32>, memref<1x1024x8x80xbf16>) -> (memref<1x1024x8x80xbf16>, memref<1x1024x8x80xbf16>, memref<1x1024x8x80xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal} : tensor<1x1024x8x80xbf16>, tensor<1x1024x8x80xbf16>, tensor<1x8x1024xf32>
  exec.yield %dq, %dk, %dv : tensor<1x1024x8x80xbf16>, tensor<1x1024x8x80xbf16>, tensor<1x1024x8x80xbf16>
}

exec.kernel @middle_shared(%q: tensor<1x1100x8x96xbf16>, %k: tensor<1x1100x4x96xbf16>, %v: tensor<1x1100x4x96xbf16>, %o: tensor<1x1100x8x96xbf16>, %l: tensor<1x8x1100xf32>, %do: tensor<1x1100x8x96xbf16>)
    : (memref<1x1100x8x96xbf16>, memref<1x1100x4x96xbf16>, memref<1x1100x4x96xbf16>, memref<1x1100x8x96xbf16>, memref<1x8x1100xf32>, memref<1x1100x8x96xbf16>) -> (memref<1x1100x8x96xbf16>, memref<1x1100x4x96xbf16>, memref<1x1100x4x96xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64} : tensor<1x1100x8x96xbf16>, tensor<1x1100x4x96xbf16>, tensor<1x8x1100xf32>
  exec.yield %dq, %dk, %dv : tensor<1x1100x8x96xbf16>, tensor<1x1100x4x96xbf16>, tensor<1x1100x4x96xbf16>
}

exec.kernel @more_than_middle(%q: tensor<1x2048x8x104xf16>, %k: tensor<1x2048x8x104xf16>, %v: tensor<1x2048x8x104xf16>, %o: tensor<1x2048x8x104xf16>, %l: tensor<1x8x2048xf32>, %do: tensor<1x2048x8x104xf16>)
    : (memref<1x2048x8x104xf16>, memref<1x2048x8x104xf16>, memref<1x2048x8x104xf16>, memref<1x2048x8x104xf16>, memref<1x8x2048xf32>, memref<1x2048x8x104xf16>) -> (memref<1x2048x8x104xf16>, memref<1x2048x8x104xf16>, memref<1x2048x8x104xf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal} : tensor<1x2048x8x104xf16>, tensor<1x2048x8x104xf16>, tensor<1x8x2048xf32>
  exec.yield %dq, %dk, %dv : tensor<1x2048x8x104xf16>, tensor<1x2048x8x104xf16>, tensor<1x2048x8x104xf16>
}

exec.kernel @wide(%q: tensor<1x2048x8x128xbf16>, %k: tensor<1x2048x8x128xbf16>, %v: tensor<1x2048x8x128xbf16>, %o: tensor<1x2048x8x128xbf16>, %l: tensor<1x8x2048xf32>, %do: tensor<1x2048x8x128xbf16>)
    : (memref<1x2048x8x128xbf16>, memref<1x2048x8x128xbf16>, memref<1x2048x8x128xbf16>, memref<1x2048x8x128xbf16>, memref<1x8x2048xf32>, memref<1x2048x8x128xbf16>) -> (memref<1x2048x8x128xbf16>, memref<1x2048x8x128xbf16>, memref<1x2048x8x128xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal} : tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>, tensor<1x8x2048xf32>
  exec.yield %dq, %dk, %dv : tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>
}

exec.kernel @wide_ragged(%q: tensor<1x2100x8x120xbf16>, %k: tensor<1x2100x4x120xbf16>, %v: tensor<1x2100x4x120xbf16>, %o: tensor<1x2100x8x120xbf16>, %l: tensor<1x8x2100xf32>, %do: tensor<1x2100x8x120xbf16>)
    : (memref<1x2100x8x120xbf16>, memref<1x2100x4x120xbf16>, memref<1x2100x4x120xbf16>, memref<1x2100x8x120xbf16>, memref<1x8x2100xf32>, memref<1x2100x8x120xbf16>) -> (memref<1x2100x8x120xbf16>, memref<1x2100x4x120xbf16>, memref<1x2100x4x120xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64} : tensor<1x2100x8x120xbf16>, tensor<1x2100x4x120xbf16>, tensor<1x8x2100xf32>
  exec.yield %dq, %dk, %dv : tensor<1x2100x8x120xbf16>, tensor<1x2100x4x120xbf16>, tensor<1x2100x4x120xbf16>
}

exec.kernel @wide_shared(%q: tensor<1x2100x8x128xbf16>, %k: tensor<1x2100x2x128xbf16>, %v: tensor<1x2100x2x128xbf16>, %o: tensor<1x2100x8x128xbf16>, %l: tensor<1x8x2100xf32>, %do: tensor<1x2100x8x128xbf16>)
    : (memref<1x2100x8x128xbf16>, memref<1x2100x2x128xbf16>, memref<1x2100x2x128xbf16>, memref<1x2100x8x128xbf16>, memref<1x8x2100xf32>, memref<1x2100x8x128xbf16>) -> (memref<1x2100x8x128xbf16>, memref<1x2100x2x128xbf16>, memref<1x2100x2x128xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal} : tensor<1x2100x8x128xbf16>, tensor<1x2100x2x128xbf16>, tensor<1x8x2100xf32>
  exec.yield %dq, %dk, %dv : tensor<1x2100x8x128xbf16>, tensor<1x2100x2x128xbf16>, tensor<1x2100x2x128xbf16>
}
}
