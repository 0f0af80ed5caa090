//===- ScalingModel.cpp - Times of a step on many ranks -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Scaling/ScalingModel.h"

#include <array>
#include <cmath>
#include <optional>

using namespace cs336;
using namespace cs336::bench;

llvm::StringRef cs336::bench::stringifyStrategy(Strategy strategy) {
  switch (strategy) {
  case Strategy::Data:
    return "dp";
  case Strategy::FSDP:
    return "fsdp";
  case Strategy::Tensor:
    return "tp";
  case Strategy::FSDPTensor:
    return "fsdp-tp";
  }
  llvm_unreachable("every strategy has a name");
}

namespace {
/// A part of the model whose parameters are exchanged together.
struct Unit {
  int64_t count;
  int64_t parameters;
  /// Per token.
  double forwardFlops, backwardFlops;
  /// All-reduces of activations under tensor parallelism.
  int64_t forwardExchanges, backwardExchanges;
  bool isLayer = false;
};

/// Adds up the collectives of a pass of one unit.
class Exchanges {
public:
  explicit Exchanges(const Interconnect &links) : links(links) {}

  void add(int64_t count, CollectiveKind kind, RankGroup group, int64_t bytes) {
    seconds += static_cast<double>(count) * links.predict(kind, group, bytes).getTotal();
    sentBytes += count * getRingBytes(kind, group.size, bytes);
  }

  double seconds = 0;
  int64_t sentBytes = 0;

private:
  const Interconnect &links;
};
} // namespace

static std::array<Unit, 3> getUnits(const TransformerConfig &config) {
  int64_t d = config.dModel, weights = 4 * d * d + 3 * d * config.dFF, table = config.vocabSize * d;
  auto gemms = static_cast<double>(weights), logits = static_cast<double>(table);
  auto attention = static_cast<double>(config.contextLength * d);
  return {Unit{1, table, 0, 0, 1, 0},
          Unit{config.numLayers, weights + 2 * d, 2 * gemms + 2 * attention, 4 * gemms + 5 * attention, 2, 2,
               /*isLayer=*/true},
          Unit{1, table + d, 2 * logits, 4 * logits, 0, 1}};
}

StepTime ScalingModel::predict(Strategy strategy, RankGrid grid, double tokens) const {
  bool isSharded = strategy == Strategy::FSDP || strategy == Strategy::FSDPTensor;
  RankGroup data{grid.data, grid.tensor}, tensor{grid.tensor, 1};
  double perRank = tokens / static_cast<double>(grid.getRanks());
  double perGroup = tokens / static_cast<double>(grid.data);
  auto activationBytes = std::llround(perGroup * static_cast<double>(config.dModel * rates.numberBytes));
  StepTime step;
  for (const Unit &unit : getUnits(config)) {
    Exchanges forward(rates.links), backward(rates.links);
    int64_t parameterBytes = unit.parameters * rates.numberBytes / grid.tensor;
    if (isSharded) {
      forward.add(1, CollectiveKind::AllGather, data, parameterBytes);
      backward.add(1, CollectiveKind::AllGather, data, parameterBytes);
      backward.add(1, CollectiveKind::ReduceScatter, data, parameterBytes);
    } else {
      backward.add(1, CollectiveKind::AllReduce, data, parameterBytes);
    }
    forward.add(unit.forwardExchanges, CollectiveKind::AllReduce, tensor, activationBytes);
    backward.add(unit.backwardExchanges, CollectiveKind::AllReduce, tensor, activationBytes);
    PhaseTime forwardTime{unit.forwardFlops * perRank / rates.flopsPerSecond, forward.seconds};
    PhaseTime backwardTime{unit.backwardFlops * perRank / rates.flopsPerSecond, backward.seconds};
    if (unit.isLayer)
      step.layer = {forwardTime.compute + backwardTime.compute, forwardTime.communication + backwardTime.communication};
    auto count = static_cast<double>(unit.count);
    step.forward.compute += count * forwardTime.compute;
    step.forward.communication += count * forwardTime.communication;
    step.backward.compute += count * backwardTime.compute;
    step.backward.communication += count * backwardTime.communication;
    step.sentBytes += unit.count * (forward.sentBytes + backward.sentBytes);
  }
  return step;
}

RankGrid ScalingModel::chooseGrid(Strategy strategy, int64_t ranks, int64_t sequences) const {
  if (strategy == Strategy::Tensor)
    return {1, ranks};
  RankGrid best{ranks, 1};
  if (strategy != Strategy::FSDPTensor)
    return best;
  auto tokens = static_cast<double>(sequences * config.contextLength);
  std::optional<std::pair<double, double>> least;
  for (int64_t tensor = 1; tensor <= std::min(ranks, config.numHeads); ++tensor) {
    RankGrid grid{ranks / tensor, tensor};
    if (ranks % tensor != 0 || !getObstacle(grid, sequences).empty())
      continue;
    StepTime step = predict(strategy, grid, tokens);
    std::pair<double, double> cost{step.getOverlapped(), step.getCommunication()};
    if (least && cost >= *least)
      continue;
    least = cost;
    best = grid;
  }
  return best;
}

llvm::StringRef ScalingModel::getObstacle(RankGrid grid, int64_t sequences) const {
  if (grid.data > sequences)
    return "sequences";
  if (config.numHeads % grid.tensor != 0)
    return "heads";
  return config.dFF % grid.tensor != 0 ? "d_ff" : "";
}
