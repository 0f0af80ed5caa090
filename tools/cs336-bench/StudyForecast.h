//===- StudyForecast.h - What a study is going to take ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYFORECAST_H
#define CS336_TOOLS_BENCH_STUDYFORECAST_H

#include "StudyLines.h"
#include "cs336/Bench/Forecast/Forecast.h"

#include "absl/status/status.h"

#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// The answer of a command to --forecast.
struct LineForecast {
  /// nullopt for a command without that flag, which takes seconds at most, and for one with an error.
  std::optional<Forecast> forecast;
  /// INVALID_ARGUMENT, with the command's own text, if the command rejects the line.
  absl::Status status;
};

/// Asks the line's command, as a process of `program`, for its --forecast.
LineForecast forecastLine(const std::string &program, llvm::ArrayRef<Command *> commands, const StudyLine &line);

/// Asks the command of every line. After an interruption, the rest of the lines have no forecast.
std::vector<LineForecast> forecastLines(const std::string &program, llvm::ArrayRef<Command *> commands,
                                        llvm::ArrayRef<StudyLine> lines);

/// Adds forecasts up: cells and seconds of all, memory of the largest cell.
Forecast addForecasts(llvm::ArrayRef<LineForecast> lines);

/// "24 cells, 1.9 GiB for the largest, about 70 s".
std::string summarize(const Forecast &forecast);

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYFORECAST_H
