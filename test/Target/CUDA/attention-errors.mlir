// Kernels that the schedules of attention reject, with the reasons.
// RUN: cs336-translate --emit-cuda %s -o /dev/null 2>&1 | FileCheck %s

// CHECK: remark: kernel 'scattered' has no CUDA text: no schedule accepts it (attention, plain_attention: it reads or writes in1, which does not lie contiguously along its last axis;
exec.kernel @scattered(%q: tensor<1x4x1x8xf32>, %k: tensor<1x4x1x8xf32>)
    : (memref<1x4x1x8xf32>, memref<1x4x1x8xf32, strided<[64, 16, 16, 2]>>) -> memref<1x4x1x8xf32> {
  %o, %l = cs336.attention %q, %k, %k {scale = 0.125 : f64}
      : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32> -> tensor<1x1x4xf32>
  exec.yield %o : tensor<1x4x1x8xf32>
}

// CHECK: remark: kernel 'more' {{.*}}(attention, plain_attention: it computes more than an attention;
exec.kernel @more(%q: tensor<1x4x1x8xf32>) : (memref<1x4x1x8xf32>) -> memref<1x4x1x8xf32> {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64}
      : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32> -> tensor<1x1x4xf32>
  %y = cs336.neg %o : tensor<1x4x1x8xf32>
  exec.yield %y : tensor<1x4x1x8xf32>
}
