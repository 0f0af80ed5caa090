//===- ToolMain.h - Start and end of every tool -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_TOOL_TOOLMAIN_H
#define CS336_DRIVER_TOOL_TOOLMAIN_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace cs336 {

/// Runs a tool's `body`, and returns its exit code. LLVM ends a process by a signal if memory or threads are exhausted
/// or standard output cannot be written. This function prints an error message and returns 1 instead. It removes a file
/// that was being written.
int toolMain(int argc, char **argv, llvm::function_ref<int()> body);

} // namespace cs336

#endif // CS336_DRIVER_TOOL_TOOLMAIN_H
