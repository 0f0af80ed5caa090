//===- TorchPeer.cpp - The same model in PyTorch --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/TorchPeer.h"

#include "cs336/runtime/TensorFile.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

// Written by CMake: benchmarks/peers/torch_model.py as a string literal.
static constexpr llvm::StringLiteral kScript =
#include "TorchModel.inc"
    ;

PeerScript cs336::bench::getModelScript() { return {"torch_model.py", kScript}; }

static constexpr llvm::StringLiteral kPackages[] = {"torch", "numpy", "safetensors"};

absl::StatusOr<std::unique_ptr<TorchPeer>> TorchPeer::start(const PeerOptions &options) {
  auto process = TorchProcess::start(getModelScript(), kPackages, options);
  if (!process.ok())
    return process.status();
  return std::unique_ptr<TorchPeer>(new TorchPeer(options, *std::move(process)));
}

absl::Status TorchPeer::give(const runtime::Session &session, llvm::StringRef model, const runtime::TensorMap &batch) {
  if (absl::Status status = runtime::WriteTensors(process->getPath("batch.npz"), batch);
      !status.ok() || model == givenModel)
    return status;
  givenModel.clear();
  absl::StatusOr<runtime::TensorMap> parameters = session.SaveVariables(runtime::VariableSet::kParameters);
  if (!parameters.ok())
    return parameters.status();
  if (absl::Status status = runtime::WriteTensors(process->getPath("params.safetensors"), *parameters); !status.ok())
    return status;
  givenModel = model.str();
  return absl::OkStatus();
}

static json::Object describe(const TransformerConfig &config) {
  json::Object object{{"rope_theta", config.ropeTheta}};
  for (const auto &field : TransformerConfig::getIntegerFields())
    object[field.key] = config.*field.member;
  return object;
}

static json::Object describe(const OptimizerConfig &config) {
  json::Object object;
  for (const auto &field : OptimizerConfig::getRealFields())
    object[field.key] = config.*field.member;
  for (const auto &field : OptimizerConfig::getIntegerFields())
    object[field.key] = config.*field.member;
  return object;
}

json::Object cs336::bench::describeForPeer(const ModelDescription &description, ComputeType type) {
  return json::Object{{"config", describe(description.transformer)},
                      {"optimizer", describe(description.optimizer)},
                      {"dtype", stringifyComputeType(type)}};
}

absl::Status cs336::bench::checkPeerOptimizer(const ModelDescription &description) {
  if (description.mode != Mode::Train || description.optimizer.form == AdamWForm::PyTorch)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--peer torch updates as torch.optim.AdamW does, and the model as ",
                                                 stringifyAdamWForm(description.optimizer.form).str(),
                                                 ": leave --adamw-form out, or --peer"));
}

absl::StatusOr<PeerMeasurement> TorchPeer::measureVariant(llvm::StringRef variant, const ModelDescription &description,
                                                          ComputeType type) {
  json::Object question = describeForPeer(description, type);
  question["params"] = process->getPath("params.safetensors");
  question["batch"] = process->getPath("batch.npz");
  question["mode"] = stringifyMode(description.mode);
  question["device"] = options.device;
  question["variant"] = variant;
  question["warmup"] = options.warmup;
  question["steps"] = options.steps;
  question["threads"] = options.numThreads;
  PeerMeasurement measurement;
  measurement.variant = variant.str();
  absl::StatusOr<json::Object> answer = process->ask(std::move(question));
  if (absl::IsResourceExhausted(answer.status()) || absl::IsUnavailable(answer.status())) {
    measurement.status = answer.status();
    return measurement;
  }
  if (!answer.ok())
    return answer.status();
  const json::Array *times = answer->getArray("step_ms");
  std::optional<double> loss = answer->getNumber("loss");
  if (!times || !loss) {
    measurement.status = process->fail(absl::DataLossError("its answer has no step_ms or loss that is a number"));
    return measurement;
  }
  for (const json::Value &time : *times)
    measurement.stepMilliseconds.push_back(time.getAsNumber().value_or(0));
  measurement.values = {*loss, answer->getNumber("grad_norm")};
  measurement.firstStepSeconds = answer->getNumber("first_call_s").value_or(0);
  measurement.deviceMiB = answer->getNumber("device_mib");
  return measurement;
}

/// Returns whether a variant exists for a cell.
static bool isMeasured(llvm::StringRef variant, Mode mode, ComputeType type) {
  // Without float32 parameters the other variants would not be comparable.
  if (variant == "graphs-bf16w")
    return mode == Mode::Forward && type == ComputeType::BF16;
  // cuDNN's attention takes 16-bit operands only.
  return variant != "graphs-cudnn" || type == ComputeType::BF16 || type == ComputeType::FP16;
}

absl::StatusOr<std::vector<PeerMeasurement>> TorchPeer::measure(const ModelDescription &description, ComputeType type) {
  if (absl::Status status = checkPeerOptimizer(description); !status.ok())
    return status;
  std::string job;
  llvm::raw_string_ostream(job) << json::Value(describe(description.transformer)) << " "
                                << json::Value(describe(description.optimizer)) << " "
                                << stringifyMode(description.mode) << " " << stringifyComputeType(type);
  if (job == measuredJob)
    return measurements;
  measuredJob.clear();
  measurements.clear();
  for (const std::string &variant : options.variants) {
    if (!isMeasured(variant, description.mode, type))
      continue;
    absl::StatusOr<PeerMeasurement> measurement = measureVariant(variant, description, type);
    if (!measurement.ok())
      return measurement.status();
    measurements.push_back(std::move(*measurement));
  }
  measuredJob = job;
  return measurements;
}
