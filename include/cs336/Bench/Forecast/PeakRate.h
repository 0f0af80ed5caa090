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

/// The highest rates of a device: the FLOP/s of large square GEMMs of random numbers, and the bandwidth of a large
/// copy. A model's FLOP utilization (MFU) is its share of the former. GEMMs and copies use the threads, the compiler
/// and the runtime of the measured model.
class PeakRates {
public:
  /// `device` has the syntax of sessions, and 0 threads stands for one thread per core. The pipeline of `compile` has
  /// no effect.
  PeakRates(const CompileOptions &compile, std::string device, int numThreads, uint64_t seed);

  /// Returns FLOP/s, where a multiply-add counts as two. The first call measures them: GEMMs double in size up to 8192³
  /// until one takes 20 ms, and the result is the fastest of five runs of the last size. Returns UNIMPLEMENTED if the
  /// device does not support such a GEMM.
  absl::StatusOr<double> get(BuildType type, ComputeType computeType);

  /// Returns the same, but at least `reached` if possible: the FLOP/s that another program has reached. If the known
  /// rate is lower, other work has slowed its measurement down. It is then measured up to two more times, and the
  /// highest rate is kept.
  absl::StatusOr<double> getAbove(BuildType type, ComputeType computeType, double reached);

  /// Returns the bytes per second that the negation of a large tensor reads and writes. The first call measures them:
  /// tensors double in size up to 2 GiB until one takes 1 ms on a GPU or 50 ms on a CPU, and the result is the fastest
  /// of five runs of the last size.
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
