//===- Launcher.h - Starting ranks as processes -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_LAUNCHER_H
#define CS336_RUNTIME_LAUNCHER_H

#include "cs336/runtime/TcpGroup.h"

#include "absl/status/status.h"
#include "absl/time/time.h"

#include <functional>
#include <string>
#include <vector>

namespace cs336::runtime {

/// The most ranks of one host. More would only exhaust its processes.
constexpr int kMostLaunchedRanks = 1024;

struct LaunchOptions {
  /// The program, looked up in PATH, and its arguments.
  std::vector<std::string> command;
  int ranks = 1; // From 1 to kMostLaunchedRanks.
  /// See RendezvousOptions. After a failure or a signal, ranks have a sixth of this time to end before they get
  /// SIGTERM, and from then a twelfth before they are killed.
  absl::Duration timeout = kDefaultRankTimeout;
  /// Called with each signal that ends the job; may be null.
  std::function<void(int)> on_signal;
};

/// Runs a command as the ranks of a group on this host and waits for them. Each rank reads its number from its
/// environment: see ReadRankEnvironment(). The cores are divided among the ranks; ranks share cores only if there are
/// fewer cores than ranks. "rank R: " is added before each line that a rank prints.
///
/// SIGINT, SIGTERM and SIGHUP are forwarded to the ranks and end the job; a second one of them kills the ranks. SIGUSR1
/// and SIGUSR2 are only forwarded. If a rank fails, all ranks are ended, also those that a signal has stopped. If this
/// process is killed, the ranks are killed too.
///
/// Returns the first failure, and states how each rank ended: CANCELLED for a signal, NOT_FOUND or PERMISSION_DENIED if
/// the program cannot be run, INVALID_ARGUMENT for another number of ranks, RESOURCE_EXHAUSTED if there are too many
/// open files, or too little memory. Call it from the main thread of a program that has no handlers of these signals.
absl::Status LaunchRanks(const LaunchOptions &options);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_LAUNCHER_H
