//===- PeakRate.h - The highest rates of a device ---------------*- C++ -*-===//
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
#include <optional>
#include <string>
#include <utility>

namespace cs336::bench {

/// The highest rates of a device: those of large square GEMMs of random numbers, of which a model's FLOP utilization
/// (MFU) is a share, and that of a large copy. They run with the same threads, through the same compiler and runtime.
class PeakRates {
public:
  /// `device` is as sessions take it, and 0 threads are one per core. The pipeline of `compile` has no effect.
  PeakRates(const CompileOptions &compile, std::string device, int numThreads, uint64_t seed);

  /// FLOP/s, a multiply-add being two; measured when it is first asked for. GEMMs double in size up to 8192³ until
  /// one takes 20 ms, and the fastest of five of the last size counts. UNIMPLEMENTED if the device has no such GEMM.
  absl::StatusOr<double> get(BuildType type, ComputeType computeType);

  /// Returns the bytes per second that the negation of a large tensor reads and writes; measured when it is first asked
  /// for. Tensors double in size up to 2 GiB until one takes 1 ms on a GPU and 50 ms on a CPU, and the fastest of five
  /// runs of the last size counts.
  absl::StatusOr<double> getBandwidth();

  bool isOnGPU() const { return compile.target == Target::CUDA; }

private:
  absl::StatusOr<double> measure(BuildType type, ComputeType computeType) const;
  absl::StatusOr<double> measureBandwidth() const;
  /// Compiles a program and returns the seconds of the fastest of five runs.
  absl::StatusOr<double> time(llvm::function_ref<void(mlir::ModuleOp)> build) const;

  CompileOptions compile;
  std::string device;
  int numThreads;
  uint64_t seed;
  std::map<std::pair<BuildType, ComputeType>, absl::StatusOr<double>> rates;
  std::optional<absl::StatusOr<double>> bandwidth;
};

} // namespace cs336::bench

#endif // CS336_BENCH_FORECAST_PEAKRATE_H
