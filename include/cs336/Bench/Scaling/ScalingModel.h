//===- ScalingModel.h - Times of a step on many ranks -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The communication model on paper: the time that a training step computes and the time that it communicates, for four
// ways to divide it between ranks. A step has the units embedding, layers and head. With d = d_model, f = d_ff,
// V = vocab_size, S = context_length, e bytes per number, and per token:
//
//   unit       parameters P          FLOPs forward              FLOPs backward
//   layer      4d² + 3df + 2d        2(4d² + 3df) + 2Sd         4(4d² + 3df) + 5Sd
//   embedding  Vd                    0                          0
//   head       Vd + d                2Vd                        4Vd
//
// A multiply-add is two FLOPs. Causal attention counts half of its 4Sd FLOPs; its backward pass takes 2.5 times as
// many, that of GEMMs twice as many. Each rank computes 1/N of the step's tokens · FLOPs, for N ranks.
//
//   strategy   ranks        collectives per unit, and the bytes of all parts
//   dp         N            backward: all-reduce of gradients, eP
//   fsdp       N            forward: all-gather of parameters, eP; backward: all-gather and reduce-scatter, eP each
//   tp         N            layer: 2 all-reduces of activations forward and 2 backward, e·d·tokens each; embedding: 1
//                           forward; head: 1 backward
//   fsdp-tp    N = X · Y    fsdp over X ranks with P/Y parameters, tp over Y ranks with tokens/X
//
// An all-reduce of activations may be an all-gather and a reduce-scatter of the same bytes (sequence parallelism). The
// ranks of tp are neighbours, and share hosts. The time of a collective is that of Interconnect.h. Within a pass,
// computation and communication overlap completely at best: the pass takes as long as the longer of both. The
// optimizer, norms, element-wise operations and the loss are not counted. Neither are idle times between a collective
// and the command that waits for it.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_SCALING_SCALINGMODEL_H
#define CS336_BENCH_SCALING_SCALINGMODEL_H

#include "cs336/Cost/Interconnect.h"
#include "cs336/Frontend/TransformerConfig.h"

#include <algorithm>

namespace cs336::bench {

/// The ways to divide a step between ranks.
enum class Strategy { Data, FSDP, Tensor, FSDPTensor };

/// "dp", "fsdp", "tp" or "fsdp-tp".
llvm::StringRef stringifyStrategy(Strategy strategy);

/// `data` ranks have different tokens; `tensor` ranks share the tokens and divide the GEMMs.
struct RankGrid {
  int64_t data = 1, tensor = 1;

  int64_t getRanks() const { return data * tensor; }
};

/// Seconds of one pass on each rank.
struct PhaseTime {
  double compute = 0, communication = 0;

  /// Returns the time of the pass if computation and communication overlap completely.
  double getOverlapped() const { return std::max(compute, communication); }
  /// Returns the communication that computation of the pass cannot hide.
  double getExposed() const { return std::max(0.0, communication - compute); }
};

struct StepTime {
  PhaseTime forward, backward;
  /// Both passes of one layer.
  PhaseTime layer;
  /// The bytes that each rank sends.
  int64_t sentBytes = 0;

  double getCompute() const { return forward.compute + backward.compute; }
  double getCommunication() const { return forward.communication + backward.communication; }
  double getOverlapped() const { return forward.getOverlapped() + backward.getOverlapped(); }
  double getExposed() const { return forward.getExposed() + backward.getExposed(); }
  /// Returns whether a pass communicates longer than it computes.
  bool isBoundByCommunication() const { return getExposed() > 0; }
};

/// The rates of a device, and its links.
struct ScalingRates {
  /// A multiply-add is two FLOPs.
  double flopsPerSecond;
  /// Bytes of a parameter, a gradient or an activation.
  int64_t numberBytes;
  Interconnect links;
};

/// Predicts the steps of one model.
class ScalingModel {
public:
  ScalingModel(const TransformerConfig &config, const ScalingRates &rates) : config(config), rates(rates) {}

  /// Returns the time of a step with `tokens` tokens on all ranks together.
  StepTime predict(Strategy strategy, RankGrid grid, double tokens) const;

  /// Returns the division of `ranks` ranks. For fsdp-tp, it is the possible division with the least overlapped time
  /// and, among equal ones, with the least communication.
  RankGrid chooseGrid(Strategy strategy, int64_t ranks, int64_t sequences) const;

  /// Returns the reason why the model cannot be divided like this: "sequences" if there are fewer sequences than data
  /// ranks, "heads" or "d_ff" if the tensor ranks do not divide them. Empty if the division is possible.
  llvm::StringRef getObstacle(RankGrid grid, int64_t sequences) const;

  const TransformerConfig &getConfig() const { return config; }
  const ScalingRates &getRates() const { return rates; }

private:
  TransformerConfig config;
  ScalingRates rates;
};

} // namespace cs336::bench

#endif // CS336_BENCH_SCALING_SCALINGMODEL_H
