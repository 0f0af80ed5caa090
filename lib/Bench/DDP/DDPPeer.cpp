//===- DDPPeer.cpp - The same steps on several ranks in PyTorch -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/DDPPeer.h"

#include "cs336/Bench/Model/TorchPeer.h"
#include "cs336/Bench/Peer/RanksScript.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

// Written by CMake: benchmarks/peers/torch_parallel.py as a string literal.
static constexpr llvm::StringLiteral kScript =
#include "TorchParallel.inc"
    ;

static constexpr llvm::StringLiteral kPackages[] = {"torch", "numpy", "safetensors"};

absl::StatusOr<std::unique_ptr<DDPPeer>> DDPPeer::start(const PeerOptions &options) {
  auto process =
      TorchProcess::start({{"torch_parallel.py", kScript}, getModelScript(), getRanksScript()}, kPackages, options);
  if (!process.ok())
    return process.status();
  return std::unique_ptr<DDPPeer>(new DDPPeer(options, *std::move(process)));
}

absl::StatusOr<DDPMeasurement> DDPPeer::measure(llvm::StringRef variant, const ModelDescription &description,
                                                ComputeType type, int ranks, const RankJob &job) {
  json::Object question = describeForPeer(description, type);
  json::Array batches;
  for (int rank = 0; rank != ranks; ++rank)
    batches.push_back(job.getBatchPath(rank));
  question["ranks"] = ranks;
  question["params"] = job.getParametersPath();
  question["batches"] = std::move(batches);
  question["device"] = job.device;
  question["variant"] = variant;
  question["warmup"] = job.warmup;
  question["steps"] = job.steps;
  question["threads"] = job.numThreads;
  DDPMeasurement measurement;
  absl::StatusOr<json::Object> answer = process->ask(std::move(question));
  if (absl::IsResourceExhausted(answer.status()) || absl::IsUnavailable(answer.status())) {
    measurement.status = answer.status();
    return measurement;
  }
  if (!answer.ok())
    return answer.status();
  const json::Array *times = answer->getArray("step_ms");
  std::optional<double> loss = answer->getNumber("loss"), gradNorm = answer->getNumber("grad_norm");
  if (!times || times->empty() || !loss || !gradNorm) {
    measurement.status =
        process->fail(absl::DataLossError("its answer has no step_ms, loss or grad_norm that is a number"));
    return measurement;
  }
  for (const json::Value &time : *times)
    measurement.stepMilliseconds.push_back(time.getAsNumber().value_or(0));
  measurement.loss = *loss;
  measurement.gradNorm = *gradNorm;
  measurement.compileSeconds = answer->getNumber("first_call_s").value_or(0);
  if (std::optional<double> mebibytes = answer->getNumber("device_mib"))
    measurement.deviceMemoryBytes = static_cast<int64_t>(*mebibytes * (1 << 20));
  return measurement;
}
