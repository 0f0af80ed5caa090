//===- PeakRate.h - The FLOP/s of a dense GEMM ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_FORECAST_PEAKRATE_H
#define CS336_BENCH_FORECAST_PEAKRATE_H

#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Frontend/ModelDescription.h"

#include "absl/status/statusor.h"

#include <map>
#include <string>
#include <utility>

namespace cs336::bench {

/// The dense peak that a model's FLOP utilization (MFU) is a share of: what one large square GEMM of random numbers
/// reaches on the same device, with the same threads, through the same compiler and runtime.
class PeakRates {
public:
  /// `device` is as sessions take it, and 0 threads are one per core. The pipeline of `compile` has no effect.
  PeakRates(const CompileOptions &compile, std::string device, int numThreads, uint64_t seed);

  /// FLOP/s, a multiply-add being two; measured when it is first asked for. GEMMs double in size up to 8192³ until
  /// one takes 20 ms, and the fastest of five of the last size counts. UNIMPLEMENTED if the device has no such GEMM.
  absl::StatusOr<double> get(BuildType type, ComputeType computeType);

  bool isOnGPU() const { return compile.target == Target::CUDA; }

private:
  absl::StatusOr<double> measure(BuildType type, ComputeType computeType) const;
  /// Seconds of the fastest of five runs.
  absl::StatusOr<double> timeGemm(int64_t size, BuildType type, ComputeType computeType) const;

  CompileOptions compile;
  std::string device;
  int numThreads;
  uint64_t seed;
  std::map<std::pair<BuildType, ComputeType>, absl::StatusOr<double>> rates;
};

} // namespace cs336::bench

#endif // CS336_BENCH_FORECAST_PEAKRATE_H
