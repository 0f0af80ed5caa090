//===- TorchPeer.cpp - The same model in PyTorch --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TorchPeer.h"

#include "cs336/runtime/TensorFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

// Written by CMake: benchmarks/peers/torch_model.py as a string literal.
static constexpr llvm::StringLiteral kScript =
#include "TorchModel.inc"
    ;

absl::StatusOr<std::unique_ptr<TorchPeer>> TorchPeer::start(const PeerOptions &options) {
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("cs336-peer", folder))
    return absl::UnavailableError(absl::StrCat("a temporary folder cannot be made: ", error.message()));
  std::unique_ptr<TorchPeer> peer(new TorchPeer(options, folder.str().str()));
  std::error_code error;
  llvm::raw_fd_ostream script(peer->getPath("torch_model.py"), error);
  script << kScript;
  script.close();
  if (error || script.has_error()) {
    script.clear_error();
    return absl::UnavailableError(absl::StrCat(peer->getPath("torch_model.py"), " cannot be written"));
  }
  auto process = PeerProcess::start({options.python, peer->getPath("torch_model.py")});
  if (!process.ok())
    return process.status();
  peer->process = std::move(*process);
  return peer;
}

TorchPeer::~TorchPeer() {
  process.reset();
  // What is left in the temporary folder harms nobody.
  (void)llvm::sys::fs::remove_directories(folder);
}

absl::Status TorchPeer::give(const runtime::Session &session, llvm::StringRef model, const runtime::TensorMap &batch) {
  if (absl::Status status = runtime::WriteTensors(getPath("batch.npz"), batch); !status.ok() || model == givenModel)
    return status;
  givenModel.clear();
  absl::StatusOr<runtime::TensorMap> parameters = session.SaveVariables(runtime::VariableSet::kParameters);
  if (!parameters.ok())
    return parameters.status();
  if (absl::Status status = runtime::WriteTensors(getPath("params.safetensors"), *parameters); !status.ok())
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

absl::StatusOr<PeerMeasurement> TorchPeer::measureVariant(llvm::StringRef variant, const ModelDescription &description,
                                                          ComputeType type) {
  json::Object question{{"config", describe(description.transformer)},
                        {"params", getPath("params.safetensors")},
                        {"batch", getPath("batch.npz")},
                        {"mode", stringifyMode(description.mode)},
                        {"dtype", stringifyComputeType(type)},
                        {"device", options.device},
                        {"variant", variant},
                        {"warmup", options.warmup},
                        {"steps", options.steps},
                        {"threads", options.numThreads}};
  absl::StatusOr<json::Object> answer = process->ask(std::move(question));
  if (!answer.ok())
    return absl::Status(answer.status().code(), absl::StrCat("PyTorch peer: ", answer.status().message()));
  PeerMeasurement measurement;
  measurement.variant = variant.str();
  if (std::optional<llvm::StringRef> error = answer->getString("error")) {
    measurement.status =
        absl::ResourceExhaustedError(absl::StrCat("PyTorch ", measurement.variant, ": ", error->str()));
    return measurement;
  }
  const json::Array *times = answer->getArray("step_ms");
  std::optional<double> loss = answer->getNumber("loss");
  if (!times || !loss)
    return absl::DataLossError("the PyTorch peer's answer has no step_ms or loss that is a number");
  for (const json::Value &time : *times)
    measurement.stepMilliseconds.push_back(time.getAsNumber().value_or(0));
  measurement.values = {*loss, answer->getNumber("grad_norm")};
  measurement.firstStepSeconds = answer->getNumber("first_call_s").value_or(0);
  measurement.deviceMiB = answer->getNumber("device_mib");
  return measurement;
}

absl::StatusOr<std::vector<PeerMeasurement>> TorchPeer::measure(const ModelDescription &description, ComputeType type) {
  std::vector<PeerMeasurement> measurements;
  for (const std::string &variant : options.variants) {
    absl::StatusOr<PeerMeasurement> measurement = measureVariant(variant, description, type);
    if (!measurement.ok())
      return measurement.status();
    measurements.push_back(std::move(*measurement));
  }
  return measurements;
}
