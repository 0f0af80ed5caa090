//===- ChildProcess.h - A rank that this process started --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_LAUNCH_CHILDPROCESS_H
#define CS336_RUNTIME_LAUNCH_CHILDPROCESS_H

#include "absl/status/statusor.h"

#include <optional>
#include <sched.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cs336::runtime {

/// A process in a process group of its own. It is killed when this process ends.
struct ChildProcess {
  pid_t pid = -1;
  /// The ends from which its standard output and error are read.
  int output = -1, error = -1;

  /// Runs a command, looked up in PATH, on some cores. Errors: NOT_FOUND if there
  /// is no such command, PERMISSION_DENIED if it is not an executable file,
  /// RESOURCE_EXHAUSTED if memory, descriptors or processes are exhausted.
  static absl::StatusOr<ChildProcess> Start(const std::vector<std::string> &command,
                                            const std::vector<std::string> &environment, const cpu_set_t &cores);

  /// Sends a signal to the process and those that it has started.
  void Signal(int signal) const;

  /// Returns how the process ended ("exit code 3", "signal 9 (Killed)"), "" for
  /// exit code 0, or nothing while it runs. Kills what it has left running. May
  /// return a value once.
  std::optional<std::string> Poll() const;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_LAUNCH_CHILDPROCESS_H
