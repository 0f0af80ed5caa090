//===- SessionRun.h - All entries of a program in a session -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_FUZZ_SESSIONRUN_H
#define CS336_TEST_RUNTIME_FUZZ_SESSIONRUN_H

#include "cs336/runtime/Executable.h"

#include "absl/status/status.h"

#include <memory>

namespace cs336::runtime::testing {

/// Creates a session on one thread of the CPU, initializes variables, and runs
/// each entry once with zeros as inputs. Returns the error of the first step
/// that fails, or an error if the program needs more than 64 MiB.
absl::Status RunInSession(std::shared_ptr<const Executable> executable);

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_FUZZ_SESSIONRUN_H
