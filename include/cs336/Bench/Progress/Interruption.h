//===- Interruption.h - Stops where results can be kept ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROGRESS_INTERRUPTION_H
#define CS336_BENCH_PROGRESS_INTERRUPTION_H

#include "llvm/ADT/StringRef.h"

#include "absl/status/status.h"

#include <cstddef>

namespace cs336::bench {

/// From now on a first SIGINT or SIGTERM asks this program to stop at the next safe place, and says so on the standard
/// error stream. Another one ends it at once, unless it comes within a second: `timeout` sends the same request to a
/// program and to its group.
void catchInterruptions();

/// The signal that asked this program to stop, or 0.
int getInterruption();

/// CANCELLED once this program was asked to stop.
absl::Status checkInterruption();

/// Waits until the file can be read or has ended. CANCELLED as soon as this program is asked to stop, or was before.
/// DEADLINE_EXCEEDED after that many milliseconds, unless they are negative.
absl::Status waitForInput(int file, int milliseconds = -1);

/// Returns the reason why a sweep ended early, and the number of omitted items among all, followed by `rest`: "cells
/// are left out".
absl::Status describeEarlyEnd(const absl::Status &reason, size_t complete, size_t all, llvm::StringRef rest);

} // namespace cs336::bench

#endif // CS336_BENCH_PROGRESS_INTERRUPTION_H
