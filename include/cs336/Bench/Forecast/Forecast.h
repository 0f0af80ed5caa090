//===- Forecast.h - What a sweep is going to take ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_FORECAST_FORECAST_H
#define CS336_BENCH_FORECAST_FORECAST_H

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// The cells that a command is about to measure, the memory that they need, and about how long they take.
struct Forecast {
  /// Rows of the table, also those that will have no times.
  int64_t cells = 0;
  /// Bytes of the cell that needs most, and which it is; nullopt if it has no plan.
  std::optional<int64_t> memoryBytes;
  std::string largest;
  /// Seconds of each task, which may have several rows. Empty if unknown.
  std::vector<double> taskSeconds;
  /// Basis of the time, or the reason why it is unknown.
  std::string timeBasis;

  std::optional<double> getSeconds() const;
  /// "12 cells, 2.3 GiB for the largest, about 4 min", then a line for what either was computed from.
  std::string describe() const;
  /// "cells", "memory_bytes", "largest", "seconds", "time_basis".
  llvm::json::Object toJSON() const;
  /// The members above but for the tasks, which become one. nullopt if the text is not what toJSON made.
  static std::optional<Forecast> fromJSON(llvm::StringRef text);
};

/// `--forecast` of a command.
class ForecastFlag : public llvm::cl::opt<bool> {
public:
  ForecastFlag(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand)
      : opt("forecast",
            llvm::cl::desc("Measure nothing: print how many cells there are, how much memory the largest "
                           "needs, and about how long it takes, as JSON"),
            llvm::cl::cat(category), llvm::cl::sub(subcommand)) {}
};

} // namespace cs336::bench

#endif // CS336_BENCH_FORECAST_FORECAST_H
