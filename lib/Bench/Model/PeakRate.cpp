//===- PeakRate.cpp - How fast products can be ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/PeakRate.h"

#include "cs336/Driver/Program.h"
#include "cs336/runtime/Session.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <chrono>

using namespace cs336;
using namespace cs336::bench;

/// {0}: the size; {1}: the element type; {2}: attributes of the product. The factors are parameters, so that nothing
/// but the product is timed.
static constexpr char kProgram[] = R"(
func.func @forward(
    %a: tensor<{0}x{0}x{1}> {{cs336.kind = "parameter", cs336.name = "a", cs336.init = #cs336.init<truncated_normal, std = 1.0, cut = 3.0>},
    %b: tensor<{0}x{0}x{1}> {{cs336.kind = "parameter", cs336.name = "b", cs336.init = #cs336.init<truncated_normal, std = 1.0, cut = 3.0>})
    -> (tensor<{0}x{0}x{1}> {{cs336.kind = "output", cs336.name = "c"}) attributes {{cs336.mode = #cs336.mode<forward>} {{
  %c = cs336.matmul %a, %b {{transpose_b{2}} : tensor<{0}x{0}x{1}>, tensor<{0}x{0}x{1}> -> tensor<{0}x{0}x{1}>
  return %c : tensor<{0}x{0}x{1}>
}
)";

/// Seconds of the fastest of five runs.
static absl::StatusOr<double> timeProduct(llvm::StringRef text, const MeasureOptions &options) {
  CompileOptions compile = options.compile;
  compile.pipeline.clear();
  compile.dumpDir.clear();
  auto executable = compileProgram(llvm::MemoryBuffer::getMemBufferCopy(text), "dense product", compile);
  if (!executable.ok())
    return executable.status();
  runtime::SessionOptions sessionOptions;
  sessionOptions.device = options.device;
  sessionOptions.num_threads = options.numThreads;
  auto session = runtime::Session::Create(*executable, sessionOptions);
  if (!session.ok())
    return session.status();
  if (absl::Status status = (*session)->InitializeVariables(options.seed); !status.ok())
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

absl::StatusOr<double> PeakRates::measure(llvm::StringRef element, llvm::StringRef attributes) const {
  constexpr int64_t kFirstSize = 1024, kLastSize = 8192;
  constexpr double kLongEnough = 20e-3;
  for (int64_t size = kFirstSize;; size *= 2) {
    absl::StatusOr<double> seconds = timeProduct(llvm::formatv(kProgram, size, element, attributes).str(), options);
    if (!seconds.ok())
      return seconds.status();
    auto length = static_cast<double>(size);
    if (*seconds >= kLongEnough || size == kLastSize)
      return 2 * length * length * length / *seconds;
  }
}

static llvm::StringRef getElement(BuildType type, ComputeType computeType) {
  if (type == BuildType::F64)
    return "f64";
  switch (computeType) {
  case ComputeType::FP32:
  case ComputeType::TF32:
    return "f32";
  case ComputeType::BF16:
    return "bf16";
  case ComputeType::FP16:
    return "f16";
  }
  llvm_unreachable("every type has an element");
}

absl::StatusOr<double> PeakRates::get(BuildType type, ComputeType computeType) {
  llvm::StringRef element = getElement(type, computeType);
  bool roundsToTF32 = type == BuildType::F32 && computeType == ComputeType::TF32;
  llvm::StringRef attributes = roundsToTF32 ? ", precision = #cs336.precision<tf32>" : "";
  auto [rate, isNew] = rates.try_emplace((element + attributes).str(), 0.0);
  if (isNew)
    rate->second = measure(element, attributes);
  return rate->second;
}
