//===- PeakRate.h - The FLOP/s of a dense GEMM ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_PEAKRATE_H
#define CS336_BENCH_MODEL_PEAKRATE_H

#include "cs336/Bench/Model/ModelBenchmark.h"

#include <map>
#include <utility>

namespace cs336::bench {

/// The dense peak that a model's FLOP utilization (MFU) is a share of: what one large square GEMM of random numbers
/// reaches on the same device, with the same threads, through the same compiler and runtime.
class PeakRates {
public:
  explicit PeakRates(const MeasureOptions &options) : options(options) {}

  /// FLOP/s, a multiply-add being two; measured when it is first asked for. GEMMs double in size up to 8192³ until
  /// one takes 20 ms, and the fastest of five of the last size counts. UNIMPLEMENTED if the device has no such GEMM.
  absl::StatusOr<double> get(BuildType type, ComputeType computeType);

private:
  absl::StatusOr<double> measure(BuildType type, ComputeType computeType) const;

  const MeasureOptions &options;
  std::map<std::pair<BuildType, ComputeType>, absl::StatusOr<double>> rates;
};

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_PEAKRATE_H
