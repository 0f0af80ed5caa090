// Heads whose vectors end within 16 bytes have tiles too: rows are padded in shared memory.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// CHECK: //===- dense -===//
// CHECK: // Schedule attention: 64 queries per block of 4 warps, keys in tiles of 64, by tensor cores.
// CHECK-NEXT: // Grid of 10 blocks of 128 threads with 25600 bytes of shared memory.
// CHECK: headDim = 20;
// CHECK: using QueryLayout = HeadLayout<12000, 40, 20, 8>;
// CHECK: TensorCoreRowBlock<__nv_bfloat16, 1>
exec.kernel @dense(%q: tensor<1x300x2x20xbf16>, %k: tensor<1x300x2x20xbf16>, %v: tensor<1x300x2x20xbf16>)
    : (memref<1x300x2x20xbf16>, memref<1x300x2x20xbf16>, memref<1x300x2x20xbf16>)
    -> (memref<1x300x2x20xbf16>, memref<1x2x300xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<1x300x2x20xbf16>, tensor<1x300x2x20xbf16> -> tensor<1x2x300xf32>
  exec.yield %o, %l : tensor<1x300x2x20xbf16>, tensor<1x2x300xf32>
}

// CHECK: //===- gradient -===//
// CHECK: // Schedule attention: 64 queries per block of 4 warps
// CHECK: using QueryLayout = HeadLayout<12000, 40, 20, 8>;
// CHECK: using KeyGradientLayout = HeadLayout<12000, 40, 20, 8>;
exec.kernel @gradient(%q: tensor<1x300x2x20xbf16>, %o: tensor<1x300x2x20xbf16>, %l: tensor<1x2x300xf32>)
    : (memref<1x300x2x20xbf16>, memref<1x300x2x20xbf16>, memref<1x2x300xf32>)
    -> (memref<1x300x2x20xbf16>, memref<1x300x2x20xbf16>, memref<1x300x2x20xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %o, %l, %o {scale = 0.125 : f64, causal}
      : tensor<1x300x2x20xbf16>, tensor<1x300x2x20xbf16>, tensor<1x2x300xf32>
  exec.yield %dq, %dk, %dv : tensor<1x300x2x20xbf16>, tensor<1x300x2x20xbf16>, tensor<1x300x2x20xbf16>
}

// Rows of a larger buffer are aligned to 16 bytes, and end with 8.
// CHECK: //===- padded -===//
// CHECK: // Schedule attention:
// CHECK: headDim = 100;
// CHECK: using QueryLayout = HeadLayout<20800, 208, 104, 16>;
// CHECK: using OutputLayout = HeadLayout<20000, 200, 100, 8>;
exec.kernel @padded(%q: tensor<1x100x2x100xf16>)
    : (memref<1x100x2x100xf16, strided<[20800, 208, 104, 1]>>) -> memref<1x100x2x100xf16> {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.1 : f64}
      : tensor<1x100x2x100xf16>, tensor<1x100x2x100xf16> -> tensor<1x2x100xf32>
  exec.yield %o : tensor<1x100x2x100xf16>
}

// CHECK: //===- padded_gradient -===//
// CHECK: // Schedule attention:
// CHECK: using OutputGradientLayout = HeadLayout<20800, 208, 104, 16>;
exec.kernel @padded_gradient(%q: tensor<1x100x2x100xf16>, %l: tensor<1x2x100xf32>)
    : (memref<1x100x2x100xf16, strided<[20800, 208, 104, 1]>>, memref<1x2x100xf32>)
    -> (memref<1x100x2x100xf16>, memref<1x100x2x100xf16>, memref<1x100x2x100xf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %q, %l, %q {scale = 0.1 : f64}
      : tensor<1x100x2x100xf16>, tensor<1x100x2x100xf16>, tensor<1x2x100xf32>
  exec.yield %dq, %dk, %dv : tensor<1x100x2x100xf16>, tensor<1x100x2x100xf16>, tensor<1x100x2x100xf16>
}

// An odd number of 16-bit elements.
// CHECK: //===- odd -===//
// CHECK: // Schedule attention:
// CHECK: using QueryLayout = HeadLayout<6700, 67, 67, 2>;
exec.kernel @odd(%q: tensor<2x100x1x67xbf16>, %l: tensor<2x1x100xf32>)
    : (memref<2x100x1x67xbf16>, memref<2x1x100xf32>)
    -> (memref<2x100x1x67xbf16>, memref<2x100x1x67xbf16>, memref<2x100x1x67xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %q, %l, %q {scale = 0.1 : f64}
      : tensor<2x100x1x67xbf16>, tensor<2x100x1x67xbf16>, tensor<2x1x100xf32>
  exec.yield %dq, %dk, %dv : tensor<2x100x1x67xbf16>, tensor<2x100x1x67xbf16>, tensor<2x100x1x67xbf16>
}

// The widest heads: dK and dV in two slices of columns.
// CHECK: //===- wide -===//
// CHECK: // Schedule attention:
// CHECK-SAME: each column in one of 2 blocks
// CHECK: headDim = 250;
exec.kernel @wide(%q: tensor<1x100x1x250xbf16>, %l: tensor<1x1x100xf32>)
    : (memref<1x100x1x250xbf16>, memref<1x1x100xf32>)
    -> (memref<1x100x1x250xbf16>, memref<1x100x1x250xbf16>, memref<1x100x1x250xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %q, %l, %q {scale = 0.1 : f64, causal}
      : tensor<1x100x1x250xbf16>, tensor<1x100x1x250xbf16>, tensor<1x1x100xf32>
  exec.yield %dq, %dk, %dv : tensor<1x100x1x250xbf16>, tensor<1x100x1x250xbf16>, tensor<1x100x1x250xbf16>
}

// CHECK: //===- precise -===//
// CHECK: // Schedule attention:
// CHECK-SAME: by fused multiply-adds
// CHECK: using QueryLayout = HeadLayout<1800, 36, 18, 8>;
exec.kernel @precise(%q: tensor<1x50x2x18xf32>, %l: tensor<1x2x50xf32>)
    : (memref<1x50x2x18xf32>, memref<1x2x50xf32>)
    -> (memref<1x50x2x18xf32>, memref<1x50x2x18xf32>, memref<1x50x2x18xf32>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %q, %l, %q {scale = 0.1 : f64}
      : tensor<1x50x2x18xf32>, tensor<1x50x2x18xf32>, tensor<1x2x50xf32>
  exec.yield %dq, %dk, %dv : tensor<1x50x2x18xf32>, tensor<1x50x2x18xf32>, tensor<1x50x2x18xf32>
}

// CHECK: //===- rounded -===//
// CHECK: // Schedule attention:
// CHECK-SAME: by tensor cores in tf32
// CHECK: using QueryLayout = HeadLayout<3500, 70, 35, 4>;
exec.kernel @rounded(%q: tensor<1x50x2x35xf32>, %l: tensor<1x2x50xf32>)
    : (memref<1x50x2x35xf32>, memref<1x2x50xf32>)
    -> (memref<1x50x2x35xf32>, memref<1x50x2x35xf32>, memref<1x50x2x35xf32>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %q, %l, %q {scale = 0.1 : f64, precision = #cs336.precision<tf32>}
      : tensor<1x50x2x35xf32>, tensor<1x50x2x35xf32>, tensor<1x2x50xf32>
  exec.yield %dq, %dk, %dv : tensor<1x50x2x35xf32>, tensor<1x50x2x35xf32>, tensor<1x50x2x35xf32>
}
