//===- AttentionPeer.cpp - Attention in PyTorch ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionPeer.h"

#include "cs336/Bench/Peer/Tolerance.h"
#include "cs336/runtime/TensorFile.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>

using namespace cs336;
using namespace cs336::bench;
using runtime::DType;
using runtime::TensorMap;
using runtime::TensorView;
namespace json = llvm::json;

// Written by CMake: benchmarks/peers/torch_attention.py as a string literal.
static constexpr llvm::StringLiteral kScript =
#include "TorchAttention.inc"
    ;

static constexpr llvm::StringLiteral kPackages[] = {"torch", "safetensors"};

absl::StatusOr<std::unique_ptr<AttentionPeer>> AttentionPeer::start(const PeerOptions &options) {
  auto process = TorchProcess::start({{"torch_attention.py", kScript}}, kPackages, options);
  if (!process.ok())
    return process.status();
  return std::unique_ptr<AttentionPeer>(new AttentionPeer(options, *std::move(process)));
}

/// Returns ‖a − b‖ / ‖b‖, computed in float64.
static absl::StatusOr<double> getDistance(const TensorView &a, const TensorView &b) {
  absl::StatusOr<runtime::Tensor> left = runtime::Cast(a, DType::kF64), right = runtime::Cast(b, DType::kF64);
  if (!left.ok() || !right.ok())
    return left.ok() ? right.status() : left.status();
  if (left->num_elements() != right->num_elements())
    return absl::DataLossError(
        absl::StrCat("the PyTorch peer's result has ", right->num_elements(), " elements, not ", left->num_elements()));
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < left->num_elements(); ++i) {
    double own = left->values<double>()[i], other = right->values<double>()[i];
    difference += (own - other) * (own - other);
    norm += other * other;
  }
  return std::sqrt(difference / norm);
}

static absl::Status compareWith(const TensorMap &theirs, const TensorMap &ours, ComputeType type,
                                AttentionPeerMeasurement &measurement) {
  for (const auto &[name, value] : ours) {
    auto found = theirs.find(name);
    if (found == theirs.end())
      return absl::DataLossError(absl::StrCat("the PyTorch peer wrote no '", name, "'"));
    absl::StatusOr<double> distance = getDistance(value, found->second);
    if (!distance.ok())
      return distance.status();
    double &kept = name == "o" ? measurement.outputDifference : measurement.gradientDifference;
    // NaN is kept.
    kept = *distance > kept || std::isnan(*distance) ? *distance : kept;
  }
  double worst = std::max(measurement.outputDifference, measurement.gradientDifference);
  measurement.isClose = worst <= getTolerance(type) && !std::isnan(measurement.outputDifference) &&
                        !std::isnan(measurement.gradientDifference);
  return absl::OkStatus();
}

static std::vector<double> readTimes(const json::Object &answer, llvm::StringRef key) {
  std::vector<double> times;
  if (const json::Array *values = answer.getArray(key))
    for (const json::Value &value : *values)
      times.push_back(value.getAsNumber().value_or(0));
  return times;
}

absl::StatusOr<AttentionPeer::Answer> AttentionPeer::askVariant(llvm::StringRef variant,
                                                                const AttentionCase &attention) {
  Answer result;
  AttentionPeerMeasurement &measurement = result.measurement;
  measurement.variant = variant.str();
  absl::StatusOr<json::Object> answer =
      process->ask(json::Object{{"inputs", process->getPath("inputs.safetensors")},
                                {"values", process->getPath("values.safetensors")},
                                {"causal", attention.isCausal},
                                {"score", attention.score.form->getName()},
                                {"score_number", attention.score.number},
                                {"part", attention.getPartName()},
                                {"dtype", stringifyComputeType(attention.computeType)},
                                {"device", options.device},
                                {"variant", variant},
                                {"warmup", options.warmup},
                                {"steps", options.steps},
                                {"threads", options.numThreads}});
  if (absl::IsResourceExhausted(answer.status()) || absl::IsUnimplemented(answer.status()) ||
      absl::IsUnavailable(answer.status())) {
    measurement.status = answer.status();
    return result;
  }
  if (!answer.ok())
    return answer.status();
  measurement.forwardMilliseconds = readTimes(*answer, "forward_ms");
  measurement.backwardMilliseconds = readTimes(*answer, "backward_ms");
  if (measurement.forwardMilliseconds.empty() || measurement.backwardMilliseconds.empty()) {
    measurement.status = process->fail(absl::DataLossError("its answer has no forward_ms or backward_ms"));
    return result;
  }
  measurement.isByEvents = answer->getString("clock") == "event";
  measurement.beforeBackwardMiB = answer->getNumber("before_backward_mib");
  measurement.forwardPeakMiB = answer->getNumber("forward_peak_mib");
  measurement.backwardPeakMiB = answer->getNumber("backward_peak_mib");
  absl::StatusOr<TensorMap> values = runtime::ReadTensors(process->getPath("values.safetensors"));
  if (!values.ok()) {
    measurement.status = process->fail(values.status());
    return result;
  }
  result.values = *std::move(values);
  return result;
}

absl::Status AttentionPeer::askAll(const AttentionCase &attention, const TensorMap &inputs) {
  answered.reset();
  answers.clear();
  if (absl::Status status = runtime::WriteTensors(process->getPath("inputs.safetensors"), inputs); !status.ok())
    return status;
  for (const std::string &variant : options.variants) {
    absl::StatusOr<Answer> answer = askVariant(variant, attention);
    if (!answer.ok())
      return answer.status();
    answers.push_back(*std::move(answer));
  }
  answered = attention;
  return absl::OkStatus();
}

std::vector<AttentionPeerMeasurement> AttentionPeer::getFailed() const {
  std::vector<AttentionPeerMeasurement> measurements;
  for (const std::string &variant : options.variants) {
    AttentionPeerMeasurement &measurement = measurements.emplace_back();
    measurement.variant = variant;
    measurement.status = process->getFailure();
  }
  return measurements;
}

absl::StatusOr<std::vector<AttentionPeerMeasurement>>
AttentionPeer::measure(const AttentionCase &attention, const TensorMap &inputs, const TensorMap &ours) {
  if (!process->getFailure().ok())
    return getFailed();
  if (answered != attention)
    if (absl::Status status = askAll(attention, inputs); !status.ok())
      return status;
  std::vector<AttentionPeerMeasurement> measurements;
  for (const Answer &answer : answers) {
    AttentionPeerMeasurement &measurement = measurements.emplace_back(answer.measurement);
    if (!measurement.status.ok())
      continue;
    if (absl::Status status = compareWith(answer.values, ours, attention.computeType, measurement); !status.ok())
      measurement.status = process->fail(status);
  }
  return measurements;
}
