//===- Ladder.h - The pipeline with one pass more at a time -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_PIPELINES_LADDER_H
#define CS336_PIPELINES_LADDER_H

#include "cs336/Pipelines/Pipelines.h"

#include <string>
#include <vector>

namespace cs336 {

/// A pipeline with one optimization more than the rung below it.
struct Rung {
  /// What is added: the pass's name, or "none" of the lowest.
  llvm::StringRef name;
  /// Options of `--cs336-pipeline` that set all of them.
  std::string options;
};

/// From a kernel for each operation, in float32, to all fusion in `type`: every optional pass that makes steps faster,
/// added in turn. Those that do nothing in the type are not there. The lowest keeps all results for the backward pass,
/// where the pipeline without fusion would compute large ones again to save memory.
std::vector<Rung> getLadder(ComputeType type);

} // namespace cs336

#endif // CS336_PIPELINES_LADDER_H
