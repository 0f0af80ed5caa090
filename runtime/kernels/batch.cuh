//===- batch.cuh - One kernel for many equal launches -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Returns the member of a launch batch that `block` belongs to. Member m has the blocks firstBlocks[m], …,
/// firstBlocks[m + 1] - 1, and every member has at least one.
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
