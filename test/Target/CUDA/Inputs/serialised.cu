//===- serialised.cu - Matmuls that wait for each other -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The second matmul uses sums of the first, which no instruction waits for in between: the assembler serialises them.
extern "C" __global__ void waits(float *out, unsigned long long left, unsigned long long right) {
  float sums[4] = {};
  for (int i = 0; i < 2; ++i) {
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "l"(left), "l"(right));
    asm volatile("wgmma.commit_group.sync.aligned;");
    sums[0] *= 2;
    asm volatile("wgmma.wait_group.sync.aligned 0;");
  }
  out[threadIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}
