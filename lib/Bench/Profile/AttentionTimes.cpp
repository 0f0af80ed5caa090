//===- AttentionTimes.cpp - Times of the parts of attention ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/AttentionTimes.h"

#include "llvm/ADT/StringSwitch.h"

using namespace cs336;
using namespace cs336::bench;

std::optional<double> AttentionTimes::getSoftmaxOverMatmuls() const {
  if (softmax == 0 || matmuls == 0)
    return std::nullopt;
  return static_cast<double>(softmax) / static_cast<double>(matmuls);
}

AttentionTimes cs336::bench::computeAttentionTimes(const RunProfile &profile) {
  AttentionTimes times;
  for (const RunProfile::Group &group : profile.getGroups()) {
    const runtime::TracedCommand *command = profile.findCommand(group);
    if (!command || command->phase != "forward")
      continue;
    int64_t *part = llvm::StringSwitch<int64_t *>(getRange(*command))
                        .Case("scores", &times.scores)
                        .Case("mask", &times.mask)
                        .Case("softmax", &times.softmax)
                        .Case("values", &times.values)
                        .Case("attention", &times.fused)
                        .Default(nullptr);
    if (!part)
      continue;
    *part += group.times.getTotal();
    if (command->kind == "gemm")
      times.matmuls += group.times.getTotal();
  }
  return times;
}

double cs336::bench::getSoftmaxFlopsOverMatmuls(int64_t headDim) { return 5.0 / (4.0 * static_cast<double>(headDim)); }
