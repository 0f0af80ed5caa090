//===- ring.cuh - The pipeline between parts of a block ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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
  __device__ unsigned getFreeBarrier(int ofStage) const { return barriers + 16 * ofStage + 8; }
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
