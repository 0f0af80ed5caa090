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
/// Returns the number of the block in its cluster of `blocks` blocks.
template <int blocks>
__device__ inline int getClusterRank() {
  int rank = 0;
  if constexpr (blocks > 1)
    asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return rank;
}
/// Waits for all threads of the cluster.
template <int blocks>
__device__ inline void awaitCluster() {
  if constexpr (blocks > 1)
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;\n" ::
                     : "memory");
  else
    __syncthreads();
}
/// Arrives at the barrier with this address in the shared memory of a block of the cluster. A wait in that block does
/// not make this thread's writes to memory visible there: that would take as long as a fence of the whole device.
template <int blocks>
__device__ inline void arriveInCluster(unsigned barrier, int block) {
  if constexpr (blocks > 1)
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}\n" ::"r"(barrier),
                 "r"(block)
                 : "memory");
  else
    arrive(barrier);
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
