//===- CheckpointNote.cpp - Recomputation by arithmetic -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/CheckpointNote.h"

#include "cs336/Support/ByteSize.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace cs336;
using namespace cs336::bench;

std::string cs336::bench::describeCheckpointing(const PlanRow &row) {
  const TransformerConfig &config = row.description.transformer;
  int64_t kept = row.plan.layerMemory.keptBytes;
  if (kept == 0)
    return "";
  int64_t number = row.description.dtype == BuildType::F64 ? 8 : 4;
  auto stream = static_cast<double>(config.batchSize * config.contextLength * config.dModel * number);
  auto layer = static_cast<double>(kept), layers = static_cast<double>(config.numLayers);
  double best = std::sqrt(layers * stream / layer), levels = std::ceil(std::log2(layers));
  auto print = [](double bytes) { return formatBytes(static_cast<int64_t>(bytes)); };
  return llvm::formatv(
      "by arithmetic: L = {0} layers keep K = {1} each, and a block keeps its input, R = {2}; blocks of "
      "k layers take L/k R + k K, the least at k = sqrt(L R/K) = {3:f2}; nested blocks, halved {4} "
      "times, take {4} R + K = {5} and run the forward pass {4} times more",
      config.numLayers, print(layer), print(stream), best, static_cast<int>(levels), print(levels * stream + layer));
}
