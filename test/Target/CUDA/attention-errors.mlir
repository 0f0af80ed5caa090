// What the schedule of attention refuses, and why.
// RUN: cs336-translate --emit-cuda %s -o /dev/null 2>&1 | FileCheck %s

// CHECK: remark: kernel 'long_heads' has no CUDA text: no schedule accepts it (attention: it has a head_dim of 264, which is not a multiple of 8 up to 256; transpose
exec.kernel @long_heads(%q: tensor<1x4x1x264xbf16>) : (memref<1x4x1x264xbf16>) -> memref<1x4x1x264xbf16> {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64}
      : tensor<1x4x1x264xbf16>, tensor<1x4x1x264xbf16> -> tensor<1x1x4xf32>
  exec.yield %o : tensor<1x4x1x264xbf16>
}

// CHECK: remark: kernel 'odd_heads' {{.*}}(attention: it has a head_dim of 12,
exec.kernel @odd_heads(%q: tensor<1x4x1x12xf32>) : (memref<1x4x1x12xf32>) -> memref<1x4x1x12xf32> {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64}
      : tensor<1x4x1x12xf32>, tensor<1x4x1x12xf32> -> tensor<1x1x4xf32>
  exec.yield %o : tensor<1x4x1x12xf32>
}

// CHECK: remark: kernel 'exact' {{.*}}(attention: it computes in float64;
exec.kernel @exact(%q: tensor<1x4x1x8xf64>) : (memref<1x4x1x8xf64>) -> memref<1x4x1x8xf64> {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64}
      : tensor<1x4x1x8xf64>, tensor<1x4x1x8xf64> -> tensor<1x1x4xf64>
  exec.yield %o : tensor<1x4x1x8xf64>
}

// CHECK: remark: kernel 'scattered' {{.*}}(attention: it reads or writes in1, which does not lie contiguously along its last axis;
exec.kernel @scattered(%q: tensor<1x4x1x8xf32>, %k: tensor<1x4x1x8xf32>)
    : (memref<1x4x1x8xf32>, memref<1x4x1x8xf32, strided<[64, 16, 16, 2]>>) -> memref<1x4x1x8xf32> {
  %o, %l = cs336.attention %q, %k, %k {scale = 0.125 : f64}
      : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32> -> tensor<1x1x4xf32>
  exec.yield %o : tensor<1x4x1x8xf32>
}

// CHECK: remark: kernel 'more' {{.*}}(attention: it computes more than an attention;
exec.kernel @more(%q: tensor<1x4x1x8xf32>) : (memref<1x4x1x8xf32>) -> memref<1x4x1x8xf32> {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64}
      : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32> -> tensor<1x1x4xf32>
  %y = cs336.neg %o : tensor<1x4x1x8xf32>
  exec.yield %y : tensor<1x4x1x8xf32>
}
