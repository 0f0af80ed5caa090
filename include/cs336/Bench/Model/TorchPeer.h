//===- TorchPeer.h - The same model in PyTorch ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_TORCHPEER_H
#define CS336_BENCH_MODEL_TORCHPEER_H

#include "cs336/Bench/Model/StepValues.h"
#include "cs336/Bench/Peer/PeerOptions.h"
#include "cs336/Bench/Peer/TorchProcess.h"

namespace cs336::bench {

/// The results of one variant of PyTorch.
struct PeerMeasurement {
  std::string variant;
  /// RESOURCE_EXHAUSTED if memory does not suffice, UNAVAILABLE if the peer has failed.
  absl::Status status;
  StepValues values{};
  std::vector<double> stepMilliseconds;
  /// The time of the first step, in which torch.compile compiles.
  double firstStepSeconds = 0;
  /// The memory that a GPU reports as used.
  std::optional<double> deviceMiB;
};

/// benchmarks/peers/torch_model.py.
PeerScript getModelScript();

/// Returns the members `config`, `optimizer` and `dtype` of a job.
llvm::json::Object describeForPeer(const ModelDescription &description, ComputeType type);

/// Returns INVALID_ARGUMENT for a training step with another form of AdamW than PyTorch's.
absl::Status checkPeerOptimizer(const ModelDescription &description);

/// Runs benchmarks/peers/torch_model.py, whose variants are "eager", "primitive", "sdpa", "compile", "graphs",
/// "graphs-cudnn" (in bf16 and fp16 only), and "graphs-bf16w" (for forward passes in bf16 only).
class TorchPeer {
public:
  /// As TorchProcess::start.
  static absl::StatusOr<std::unique_ptr<TorchPeer>> start(const PeerOptions &options);

  /// As TorchProcess::getFailure.
  const absl::Status &getFailure() const { return process->getFailure(); }

  /// Writes the session's parameters and this batch to the peer's files. `model` identifies the parameters: equal
  /// parameters are not written again, because writing those of a large model takes longer than its steps.
  absl::Status give(const runtime::Session &session, llvm::StringRef model, const runtime::TensorMap &batch);
  /// Measures the values and times of every variant. Consecutive calls for the same case, for example with other levels
  /// of fusion, measure once. A lack of memory and a failure of the peer are statuses of the measurements; other errors
  /// are returned.
  absl::StatusOr<std::vector<PeerMeasurement>> measure(const ModelDescription &description, ComputeType type);

private:
  TorchPeer(PeerOptions options, std::unique_ptr<TorchProcess> process)
      : options(std::move(options)), process(std::move(process)) {}

  absl::StatusOr<PeerMeasurement> measureVariant(llvm::StringRef variant, const ModelDescription &description,
                                                 ComputeType type);

  PeerOptions options;
  std::unique_ptr<TorchProcess> process;
  /// The model whose parameters are in the folder.
  std::string givenModel;
  /// The case of the last measurements.
  std::string measuredJob;
  std::vector<PeerMeasurement> measurements;
};

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_TORCHPEER_H
