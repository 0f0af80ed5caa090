//===- Ladder.h - Pipelines that add one pass at a time ---------*- C++ -*-===//
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
  /// The added pass, or "none" for the lowest rung.
  llvm::StringRef name;
  /// Options of `--cs336-pipeline` for the whole rung.
  std::string options;
};

/// Returns the rungs from one kernel per operation in float32 to all fusion in `type`. Each rung adds one optional pass
/// that makes steps faster. Passes without an effect in the type are left out. The lowest rung keeps all results for
/// the backward pass, where the pipeline without fusion would compute large ones again to save memory.
std::vector<Rung> getLadder(ComputeType type);

} // namespace cs336

#endif // CS336_PIPELINES_LADDER_H
