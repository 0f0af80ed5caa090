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
  /// True if these times are between events in the GPU's stream, false if they are by the host's clock.
  bool isByEvents = false;
  /// The memory that PyTorch's allocator reports, on a GPU.
  std::optional<double> beforeBackwardMiB, forwardPeakMiB, backwardPeakMiB;
  /// ‖ours − theirs‖ / ‖theirs‖ of the output, and the largest such difference of the three gradients.
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

  /// Measures every variant on `inputs`: q, k, v, `weights`, the gradient of the output, and the state of the score
  /// function. Consecutive calls for the same case, for example with other levels of fusion, measure once. `ours` has
  /// the output o and the gradients of q, k and v, with which PyTorch's values are compared. A lack of memory and a
  /// failure of the peer are statuses of the measurements; other errors are returned.
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
