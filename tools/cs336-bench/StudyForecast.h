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

namespace cs336::bench {

/// Asks every line's command, as a process of `program`, for its --forecast, and adds the answers up: cells and seconds
/// of all, memory of the largest cell. Commands without such a flag take seconds at most and add nothing, nor do lines
/// with errors, which they report when they run.
Forecast forecastStudy(const std::string &program, llvm::ArrayRef<Command *> commands, llvm::ArrayRef<StudyLine> lines);

/// "24 cells, 1.9 GiB for the largest, about 70 s".
std::string summarize(const Forecast &forecast);

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYFORECAST_H
