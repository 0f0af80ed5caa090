//===- ToolMain.h - How every tool starts and ends --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_TOOLMAIN_H
#define CS336_DRIVER_TOOLMAIN_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace cs336 {

/// Runs a tool's `body`, and returns the exit code that it returns. LLVM ends a process by a signal where memory or
/// threads are exhausted or standard output cannot be written; here each is an error message and exit code 1. A file
/// that was being written is removed. `--version` prints `describeVersion`, and `--complete` serves shell completion.
int toolMain(int argc, char **argv, llvm::function_ref<int()> body);

} // namespace cs336

#endif // CS336_DRIVER_TOOLMAIN_H
