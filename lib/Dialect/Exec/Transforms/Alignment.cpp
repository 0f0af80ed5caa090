//===- Alignment.cpp - Alignments that a memory plan accepts --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alignment.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

LogicalResult cs336::exec::verifyAlignment(EntryOp entry, uint64_t alignment) {
  constexpr uint64_t kMostAlignment = 1 << 21;
  if (llvm::isPowerOf2_64(alignment) && alignment <= kMostAlignment)
    return success();
  return entry.emitError() << "alignment must be a power of two up to " << kMostAlignment << ", is " << alignment;
}
