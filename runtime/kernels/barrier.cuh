//===- barrier.cuh - Barriers between parts of a block ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// For compute capability 9.0 and later.

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

/// A ring of `stages` buffers that some threads fill and others use, in turn. Each thread has its own position. Two
/// barriers per stage are in shared memory: one for the end of filling, one for the end of use.
template <int stages>
class Ring {
public:
  static constexpr int bytes = 16 * stages;

  __device__ explicit Ring(unsigned barriers) : barriers(barriers) {}

  /// Called by one thread. `fillers` and `users` are the numbers of arrivals that end the filling and the use.
  __device__ void init(int fillers, int users) const {
#pragma unroll
    for (int i = 0; i < stages; ++i) {
      initBarrier(barriers + 16 * i, fillers);
      initBarrier(barriers + 16 * i + 8, users);
    }
  }

  __device__ int getStage() const { return stage; }
  __device__ unsigned getFullBarrier() const { return barriers + 16 * stage; }
  /// Waits until the buffer may be filled.
  __device__ void awaitFree() const { awaitPhase(getFullBarrier() + 8, parity ^ 1); }
  /// Waits until the buffer may be filled, and announces copies that fill it. Returns the barrier for them.
  __device__ unsigned startFilling(int bytes) const {
    awaitFree();
    arriveAnnouncing(getFullBarrier(), bytes);
    return getFullBarrier();
  }
  /// Waits until the buffer is full.
  __device__ void awaitFull() const { awaitPhase(getFullBarrier(), parity); }
  /// Goes to the next buffer.
  __device__ void advance() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  /// Goes to the next buffer; if `isElected`, ends the use of this one for all threads that the caller stands for.
  __device__ void release(bool isElected) {
    if (isElected)
      arrive(getFullBarrier() + 8);
    advance();
  }

  /// Returns the stage before the current one.
  __device__ int getPreviousStage() const { return (stage == 0 ? stages : stage) - 1; }
  /// Ends the use of the buffer before the current one, to which `advance` has gone.
  __device__ void releasePrevious(bool isElected) const {
    if (isElected)
      arrive(barriers + 16 * getPreviousStage() + 8);
  }

private:
  unsigned barriers;
  int stage = 0;
  unsigned parity = 0;
};

#endif
