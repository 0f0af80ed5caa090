//===- Progress.h - How far long work is ------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROGRESS_PROGRESS_H
#define CS336_BENCH_PROGRESS_PROGRESS_H

#include "cs336/Bench/Progress/RemainingTime.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace cs336::bench {

/// Prints the progress to the standard error stream: a moving bar on a terminal, otherwise a line for each task.
class Progress {
public:
  /// `expectedSeconds` has the expected time of each task, or is empty. If it is given, each task after the first
  /// begins with an estimate of the remaining time.
  explicit Progress(int64_t tasks, std::vector<double> expectedSeconds = {});
  ~Progress();

  /// Begins the next task.
  void start(const llvm::Twine &task);
  /// Reports the completed fraction, between 0 and 1, and the current stage.
  void update(llvm::StringRef stage, double fraction);
  /// Prints a warning on a separate line.
  void warn(llvm::StringRef text);

private:
  void draw(llvm::StringRef stage, double fraction);

  using Clock = std::chrono::steady_clock;

  int64_t tasks, started = 0;
  RemainingTime remaining;
  Clock::time_point taskStart;
  std::string current;
  bool isTerminal;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PROGRESS_PROGRESS_H
