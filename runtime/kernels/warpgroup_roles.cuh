//===- warpgroup_roles.cuh - Warpgroups share a multiprocessor --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Registers and turns of the warpgroups of a block. All threads of a warpgroup call these functions together.

/// Lets warpgroups start their matmuls in turn, so that one computes exponentials while others multiply.
template <int warpgroups>
class Turns {
public:
  __device__ explicit Turns(int warpgroup) : warpgroup(warpgroup) {
    if (warpgroups > 1 && warpgroup == warpgroups - 1)
      pass();
  }
  __device__ void await() const {
    if constexpr (warpgroups > 1)
      awaitThreads<256>(1 + warpgroup);
  }
  __device__ void pass() const {
    if constexpr (warpgroups > 1)
      arriveThreads<256>(1 + (warpgroup + 1) % warpgroups);
  }

private:
  const int warpgroup;
};

/// Moves registers from the first warpgroup, which needs `copyRegisters` per thread, to the computing ones. A block
/// starts with 168 per thread if two warpgroups compute, and with 128 if three do.
template <int warpgroups, int copyRegisters>
__device__ inline void moveRegisters(int warpgroup) {
  constexpr int total = warpgroups == 2 ? 3 * 168 : 4 * 128;
  if constexpr (warpgroups > 1) {
    if (warpgroup == 0)
      lowerRegisters<copyRegisters>();
    else
      raiseRegisters<(total - copyRegisters) / warpgroups / 8 * 8>();
  }
}
