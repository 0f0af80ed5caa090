//===- batch.cuh - Kernels that do one thing to many buffers ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Which of the members works in `block`. The blocks of member m are firstBlocks[m], …, firstBlocks[m + 1] - 1, and
/// every member has one.
template <int size>
__device__ inline int findMember(const unsigned (&firstBlocks)[size], unsigned block) {
  int member = 0;
  for (int end = size - 1; end - member > 1;) {
    const int middle = (member + end) / 2;
    if (firstBlocks[middle] <= block)
      member = middle;
    else
      end = middle;
  }
  return member;
}
