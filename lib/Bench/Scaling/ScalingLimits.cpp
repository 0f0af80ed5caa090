//===- ScalingLimits.cpp - Where communication binds ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Scaling/ScalingLimits.h"

using namespace cs336;
using namespace cs336::bench;

RankLimit cs336::bench::findMostRanks(const ScalingModel &model, Strategy strategy, const ScalingBatch &batch) {
  const TransformerConfig &config = model.getConfig();
  int64_t perHost = model.getRates().links.devicesPerHost;
  RankLimit limit;
  for (int64_t ranks = 1; ranks <= kMostRanks; ranks += ranks < perHost ? 1 : perHost - ranks % perHost) {
    if (strategy == Strategy::Tensor && ranks > config.numHeads) {
      limit.endedBy = "heads";
      return limit;
    }
    int64_t sequences = batch.getSequences(ranks);
    RankGrid grid = model.chooseGrid(strategy, ranks, sequences);
    if (grid.data > sequences) {
      limit.endedBy = "sequences";
      return limit;
    }
    if (!model.getObstacle(grid, sequences).empty())
      continue;
    auto tokens = static_cast<double>(sequences * config.contextLength);
    if (model.predict(strategy, grid, tokens).isBoundByCommunication()) {
      limit.endedBy = "communication";
      return limit;
    }
    limit.ranks = ranks;
    limit.grid = grid;
  }
  return limit;
}

std::optional<int64_t> cs336::bench::findLeastTokens(const ScalingModel &model, Strategy strategy, RankGrid grid) {
  auto binds = [&](int64_t tokens) {
    return model.predict(strategy, grid, static_cast<double>(tokens * grid.getRanks())).isBoundByCommunication();
  };
  // With more tokens, the time of communication grows more slowly than that of computation, or communication binds for
  // all numbers of tokens. So a binary search finds the limit.
  int64_t tooFew = 0, enough = int64_t(1) << 30;
  if (binds(enough))
    return std::nullopt;
  while (enough - tooFew > 1) {
    int64_t middle = tooFew + (enough - tooFew) / 2;
    (binds(middle) ? tooFew : enough) = middle;
  }
  return enough;
}
