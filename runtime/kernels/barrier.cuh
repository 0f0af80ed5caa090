//===- barrier.cuh - Barriers between parts of a block ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// For compute capability 9.0 and later. As in async_copy.cuh, a compilation for another device than a GPU must define
// functions of these names first.

#ifdef __CUDACC__

/// Waits until `threads` threads, the caller included, have arrived at the barrier with this number, 1 to 15.
template <int threads>
__device__ inline void awaitThreads(int number) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(number), "n"(threads) : "memory");
}
/// Arrives at the barrier with this number without waiting.
template <int threads>
__device__ inline void arriveThreads(int number) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(number), "n"(threads) : "memory");
}

/// Starts to use the barrier at `barrier`, 8 bytes of shared memory. A phase of it ends after `arrivals` arrivals, when
/// also all bytes that were announced have been copied.
__device__ inline void initBarrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes barriers that this thread has initialised visible to copies.
__device__ inline void publishBarriers() { asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory"); }

__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}
/// Arrives, and announces copies of `bytes` bytes.
__device__ inline void arriveAnnouncing(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Waits until the phase with this parity has ended. The first phase has parity 0. During it, a wait for parity 1
/// returns at once.
__device__ inline void awaitPhase(unsigned barrier, unsigned parity) {
  asm volatile("{\n"
               ".reg .pred hasEnded;\n"
               "again:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 hasEnded, [%0], %1, 0x989680;\n"
               "@!hasEnded bra again;\n"
               "}\n" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

#endif
