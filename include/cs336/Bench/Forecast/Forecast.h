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

/// The number of cells that a command is going to measure, their memory, and their approximate time.
struct Forecast {
  /// The number of rows of the table, including those without times.
  int64_t cells = 0;
  /// The bytes of the cell that needs the most memory, and the description of this cell. nullopt if it has no plan.
  std::optional<int64_t> memoryBytes;
  std::string largest;
  /// Seconds of each task, which may have several rows. Empty if unknown.
  std::vector<double> taskSeconds;
  /// Basis of the time, or the reason why it is unknown.
  std::string timeBasis;

  std::optional<double> getSeconds() const;
  /// Returns "12 cells, 2.3 GiB for the largest, about 4 min", followed by lines with the basis of the memory and of
  /// the time.
  std::string describe() const;
  /// "cells", "memory_bytes", "largest", "seconds", "time_basis".
  llvm::json::Object toJSON() const;
  /// Parses the output of toJSON. The seconds of all tasks become those of one task. Returns nullopt for any other
  /// text.
  static std::optional<Forecast> fromJSON(llvm::StringRef text);
};

/// `--forecast` of a command.
class ForecastFlag : public llvm::cl::opt<bool> {
public:
  ForecastFlag(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand)
      : opt("forecast",
            llvm::cl::desc("Measure nothing: print how many cells there are, how much memory the largest "
                           "needs, and about how long it takes, as JSON; --format and --output have no effect"),
            llvm::cl::cat(category), llvm::cl::sub(subcommand)) {}
};

} // namespace cs336::bench

#endif // CS336_BENCH_FORECAST_FORECAST_H
