//===- CompileProfile.h - Where the time of a compilation goes --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_COMPILE_COMPILEPROFILE_H
#define CS336_DRIVER_COMPILE_COMPILEPROFILE_H

#include "mlir/Support/Timing.h"

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cs336 {

/// The runs of one timer.
struct TimedPhase {
  std::string name;
  /// The names of the timers around it, the outermost first: {"pipeline", "'func.func' Pipeline"}.
  std::vector<std::string> outer;
  int64_t runs = 0;
  /// The sum over all runs and threads.
  double seconds = 0;
};

/// Records the timers that `--timing` prints, as data. The scope of `getRootScope` goes to CompileOptions::timing.
/// Thread-safe.
class CompileProfile : public mlir::TimingManager {
public:
  CompileProfile();

  /// Returns the timers that have run, each before the timers within it, in the order of their first runs. The root is
  /// not one of them. Call it when all scopes have ended.
  std::vector<TimedPhase> getPhases() const;

protected:
  std::optional<void *> rootTimer() override;
  void startTimer(void *handle) override;
  void stopTimer(void *handle) override;
  void *nestTimer(void *handle, const void *id, llvm::function_ref<std::string()> nameBuilder) override;
  void hideTimer(void *handle) override;

private:
  using Clock = std::chrono::steady_clock;
  struct Node {
    std::string name;
    /// True if the timers within it take its place.
    bool isHidden = false;
    int64_t runs = 0;
    Clock::duration time{};
    /// By thread: several threads may run one timer at the same time.
    std::map<std::thread::id, Clock::time_point> started;
    std::map<const void *, Node *> byId;
    std::vector<Node *> inner;
  };

  void collect(const Node &node, std::vector<std::string> &outer, std::vector<TimedPhase> &phases) const;

  mutable std::mutex mutex;
  std::deque<Node> nodes; // The first is the root.
};

} // namespace cs336

#endif // CS336_DRIVER_COMPILE_COMPILEPROFILE_H
