//===- Interruption.h - Stops where results can be kept ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROGRESS_INTERRUPTION_H
#define CS336_BENCH_PROGRESS_INTERRUPTION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include "absl/status/status.h"

#include <cstddef>

namespace cs336::bench {

/// Installs signal handlers. A first SIGINT, SIGTERM or SIGHUP asks this program to stop at the next safe place, and
/// prints a message to the standard error stream. A second signal ends the program at once, unless it comes within a
/// second: `timeout` sends the same signal to a program and to its group. `tool` is the name in the message.
void catchInterruptions(llvm::StringLiteral tool = "cs336-bench");

/// Asks this program to stop because of a signal that another handler has caught.
void setInterruption(int signal);

/// The signal that asked this program to stop, or 0.
int getInterruption();

/// Returns CANCELLED after this program was asked to stop, and OK before.
absl::Status checkInterruption();

/// Waits until the file can be read or has ended. Returns CANCELLED if this program is asked to stop, or was asked
/// before, and DEADLINE_EXCEEDED after the given number of milliseconds, unless it is negative.
absl::Status waitForInput(int file, int milliseconds = -1);

/// Returns the reason why a sweep ended early, and the number of omitted items among all, followed by `rest`: "cells
/// are left out".
absl::Status describeEarlyEnd(const absl::Status &reason, size_t complete, size_t all, llvm::StringRef rest);

/// Sets the member `incomplete` of a document of results if an interruption or an error ended its sweep.
void markIfIncomplete(llvm::json::Object &document, const absl::Status &end);

} // namespace cs336::bench

#endif // CS336_BENCH_PROGRESS_INTERRUPTION_H
