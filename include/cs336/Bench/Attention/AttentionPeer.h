//===- AttentionPeer.h - Attention in PyTorch -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_ATTENTIONPEER_H
#define CS336_BENCH_ATTENTION_ATTENTIONPEER_H

#include "cs336/Bench/Attention/AttentionProgram.h"
#include "cs336/Bench/Peer/PeerOptions.h"
#include "cs336/Bench/Peer/TorchProcess.h"
#include "cs336/runtime/Session.h"

#include <optional>

namespace cs336::bench {

/// The results of one variant of PyTorch.
struct AttentionPeerMeasurement {
  std::string variant;
  /// RESOURCE_EXHAUSTED if memory does not suffice, UNIMPLEMENTED if PyTorch has no kernel, UNAVAILABLE if the peer has
  /// failed.
  absl::Status status;
  std::vector<double> forwardMilliseconds, backwardMilliseconds;
  /// By PyTorch's own allocator, on a GPU.
  std::optional<double> beforeBackwardMiB, forwardPeakMiB, backwardPeakMiB;
  /// ‖ours − theirs‖ / ‖theirs‖ of the output, and the worst of the three gradients'.
  double outputDifference = 0, gradientDifference = 0;
  bool isClose = false;
};

/// Runs benchmarks/peers/torch_attention.py.
class AttentionPeer {
public:
  /// As TorchProcess::start.
  static absl::StatusOr<std::unique_ptr<AttentionPeer>> start(const PeerOptions &options);

  /// As TorchProcess::getFailure.
  const absl::Status &getFailure() const { return process->getFailure(); }

  /// Times of every variant, measured once for all levels of fusion that follow each other, on `inputs`: q, k, v, and
  /// the gradient of the output, `weights`. `ours` are the output o and the gradients q, k and v that its values are
  /// compared with. A lack of memory and a peer that has failed are parts of the measurements; other errors are errors.
  absl::StatusOr<std::vector<AttentionPeerMeasurement>>
  measure(const AttentionCase &attention, const runtime::TensorMap &inputs, const runtime::TensorMap &ours);

private:
  AttentionPeer(PeerOptions options, std::unique_ptr<TorchProcess> process)
      : options(std::move(options)), process(std::move(process)) {}

  /// Times, and the values that were computed.
  struct Answer {
    AttentionPeerMeasurement measurement;
    runtime::TensorMap values;
  };
  absl::StatusOr<Answer> askVariant(llvm::StringRef variant, const AttentionCase &attention);
  /// The state of every variant once the peer has failed.
  std::vector<AttentionPeerMeasurement> getFailed() const;
  absl::Status askAll(const AttentionCase &attention, const runtime::TensorMap &inputs);

  PeerOptions options;
  std::unique_ptr<TorchProcess> process;
  /// The results of the last case.
  std::optional<AttentionCase> answered;
  std::vector<Answer> answers;
};

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONPEER_H
