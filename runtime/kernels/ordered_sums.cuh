//===- ordered_sums.cuh - Sums of several blocks in one order ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// For compute capability 9.0 and later.

#ifdef __CUDACC__

/// Starts to copy floats from shared memory to global memory, which is aligned to 16 bytes. `bytes` is a multiple
/// of 16.
__device__ inline void storeFloats(float *to, unsigned from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n" ::"l"(__cvta_generic_to_global(to)),
               "r"(from), "r"(bytes)
               : "memory");
}
/// The same, but adds to what is there.
__device__ inline void addFloats(float *to, unsigned from, int bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;\n" ::"l"(
                   __cvta_generic_to_global(to)),
               "r"(from), "r"(bytes)
               : "memory");
}
/// Waits until all stores of this thread are complete.
__device__ inline void awaitStores() { asm volatile("cp.async.bulk.wait_group 0;\n" ::: "memory"); }
/// Orders copies after accesses of this thread to the memory that they access, and the other way round.
__device__ inline void orderCopies() { asm volatile("fence.proxy.async;\n" ::: "memory"); }

/// Waits until `turn` blocks have passed the turn. What they have stored is visible then.
__device__ inline void awaitTurn(const unsigned *turns, unsigned turn) {
  unsigned passed;
  do
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];\n" : "=r"(passed) : "l"(turns) : "memory");
  while (passed != turn);
  orderCopies();
}
/// Passes the turn after the stores that this thread has awaited. `turn` is the caller's own.
__device__ inline void passTurn(unsigned *turns, unsigned turn) {
  orderCopies();
  asm volatile("st.release.gpu.global.u32 [%0], %1;\n" ::"l"(turns), "r"(turn + 1) : "memory");
}

#endif
