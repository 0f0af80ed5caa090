//===- PeakRate.cpp - The highest rates of a device -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Forecast/PeakRate.h"

#include "cs336/Bench/Program/FunctionBuilder.h"
#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/runtime/Session.h"

#include <algorithm>
#include <chrono>

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

static Type getElement(Builder builder, BuildType type, ComputeType computeType) {
  if (type == BuildType::F64)
    return builder.getF64Type();
  switch (computeType) {
  case ComputeType::FP32:
  case ComputeType::TF32:
    return builder.getF32Type();
  case ComputeType::BF16:
    return builder.getBF16Type();
  case ComputeType::FP16:
    return builder.getF16Type();
  }
  llvm_unreachable("every type has an element");
}

/// Builds c = a·bᵀ on square matrices. They are parameters, so that only the GEMM is timed.
static void buildGemm(int64_t size, Type element, Precision precision, ModuleOp module) {
  FunctionBuilder function(module, Mode::Forward);
  auto type = RankedTensorType::get({size, size}, element);
  Value a = function.addVariable("a", "parameter", type), b = function.addVariable("b", "parameter", type);
  Value c = MatmulOp::create(function.getBuilder(), a, b, /*transposeA=*/false, /*transposeB=*/true, precision);
  function.finish({{"c", c}});
}

/// Builds y = -x.
static void buildNegation(int64_t size, ModuleOp module) {
  FunctionBuilder function(module, Mode::Forward);
  auto type = RankedTensorType::get({size}, function.getBuilder().getF32Type());
  Value x = function.addVariable("x", "parameter", type);
  Value y = NegOp::create(function.getBuilder(), x);
  function.finish({{"y", y}});
}

PeakRates::PeakRates(const CompileOptions &compile, std::string device, int numThreads, uint64_t seed)
    : compile(compile), device(std::move(device)), numThreads(numThreads), seed(seed) {
  this->compile.pipeline.clear();
  this->compile.dumpDir.clear();
  this->compile.autotuner = nullptr; // These programs have no attention.
}

absl::StatusOr<double> PeakRates::time(llvm::function_ref<void(ModuleOp)> build) const {
  auto executable = compileProgram(build, compile);
  if (!executable.ok())
    return executable.status();
  runtime::SessionOptions sessionOptions;
  sessionOptions.device = device;
  sessionOptions.num_threads = numThreads;
  auto session = runtime::Session::Create(*executable, sessionOptions);
  if (!session.ok())
    return session.status();
  if (absl::Status status = (*session)->InitializeVariables(seed); !status.ok())
    return status;

  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> shortest = std::chrono::hours(1);
  for (int run = 0; run < 5; ++run) {
    Clock::time_point start = Clock::now();
    absl::Status status = (*session)->Run("forward", {});
    if (status.ok())
      status = (*session)->Synchronize();
    if (!status.ok())
      return status;
    shortest = std::min(shortest, std::chrono::duration<double>(Clock::now() - start));
  }
  return shortest.count();
}

absl::StatusOr<double> PeakRates::measure(BuildType type, ComputeType computeType) const {
  constexpr int64_t kFirstSize = 1024, kLastSize = 8192;
  constexpr double kLongEnough = 20e-3;
  for (int64_t size = kFirstSize;; size *= 2) {
    absl::StatusOr<double> seconds = time([&](ModuleOp module) {
      buildGemm(size, getElement(Builder(module.getContext()), type, computeType),
                computeType == ComputeType::TF32 ? Precision::TF32 : Precision::IEEE, module);
    });
    if (!seconds.ok())
      return seconds.status();
    auto length = static_cast<double>(size);
    if (*seconds >= kLongEnough || size == kLastSize)
      return 2 * length * length * length / *seconds;
  }
}

absl::StatusOr<double> PeakRates::get(BuildType type, ComputeType computeType) {
  return getAbove(type, computeType, /*reached=*/0);
}

absl::StatusOr<double> PeakRates::getAbove(BuildType type, ComputeType computeType, double reached) {
  constexpr int kMostRepetitions = 2;
  // A model that is built in float64 computes in float64, regardless of the compute type.
  if (type == BuildType::F64)
    computeType = ComputeType::FP32;
  auto [found, isNew] = rates.try_emplace({type, computeType}, 0.0);
  absl::StatusOr<double> &rate = found->second;
  if (isNew)
    rate = measure(type, computeType);
  for (int repetition = 0; repetition < kMostRepetitions && rate.ok() && *rate < reached; ++repetition) {
    absl::StatusOr<double> again = measure(type, computeType);
    if (!again.ok())
      return again.status();
    rate = std::max(*rate, *again);
  }
  return rate;
}

absl::StatusOr<double> PeakRates::measureBandwidth() const {
  constexpr int64_t kFirstSize = int64_t(4) << 20, kLastSize = int64_t(512) << 20; // 16 MiB and 2 GiB of float32.
  const double longEnough = isOnGPU() ? 1e-3 : 50e-3;
  for (int64_t size = kFirstSize;; size *= 2) {
    absl::StatusOr<double> seconds = time([&](ModuleOp module) { buildNegation(size, module); });
    if (!seconds.ok())
      return seconds.status();
    if (*seconds >= longEnough || size == kLastSize)
      return 2 * sizeof(float) * static_cast<double>(size) / *seconds;
  }
}

absl::StatusOr<double> PeakRates::getBandwidth() {
  if (!bandwidth)
    bandwidth = measureBandwidth();
  return *bandwidth;
}
