//===- Ladder.cpp - The pipeline with one pass more at a time -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Pipelines/Ladder.h"

using namespace cs336;

std::vector<Rung> cs336::getLadder(ComputeType type) {
  std::vector<Rung> ladder{{"none",
                            "dtype=fp32 fusion=none hoist-invariants=false merge-gemms=false "
                            "fuse-epilogues=false weight-shadows=false fuse-updates=false recompute-pointwise=0"}};
  // If an option is given twice, the last value is used.
  auto add = [&](llvm::StringRef name, llvm::StringRef option) {
    ladder.push_back({name, ladder.back().options + " " + option.str()});
  };
  add("hoist-invariants", "hoist-invariants=true");
  add("merge-gemms", "merge-gemms=true");
  if (type != ComputeType::FP32)
    add("autocast", ("dtype=" + stringifyComputeType(type)).str());
  add("fuse-elementwise", "fusion=elementwise");
  add("fuse-epilogues", "fuse-epilogues=true");
  if (type == ComputeType::BF16 || type == ComputeType::FP16)
    add("weight-shadows", "weight-shadows=true");
  add("fuse-softmax", "fusion=softmax");
  add("flash-attention", "fusion=flash");
  // In float32 and with scaled losses no update can be fused.
  if (type == ComputeType::BF16)
    add("fuse-updates", "fuse-updates=true");
  return ladder;
}
