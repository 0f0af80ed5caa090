//===- GuardedRun.h - Commands on operands with guard pages -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a session's memory, what a kernel reads beyond its operand is mostly some
// other value, and nothing notices. Here each command runs on copies of its
// operands, which begin or end where a page that cannot be accessed ends or
// begins: what touches a byte outside of them gets SIGSEGV. This holds for
// generated code as well, which no sanitizer instruments.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_FUZZ_GUARDEDRUN_H
#define CS336_TEST_RUNTIME_FUZZ_GUARDEDRUN_H

#include "cs336/runtime/Executable.h"

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"

#include <string>

namespace cs336::runtime::testing {

/// Runs programs for the CPU with the largest integers that inputs may hold and
/// zeros otherwise; those with integers also with large numbers in variables and
/// in inputs without a bound.
class GuardedRunner {
public:
  /// Runs the commands of all entries. Leaves out those that equal one that it
  /// has run before, in this program or another: they have shown what they
  /// touch, unless integers decide that. An error says that the device refuses the program, or that it needs
  /// more memory than `kMostBytes`.
  absl::Status Run(const Executable &executable);

  int64_t commands_run() const { return commands_run_; }

private:
  static constexpr int64_t kMostBytes = int64_t{1} << 26;

  absl::Status RunEntry(const Executable &executable, const format::EntryT &entry);

  absl::flat_hash_set<std::string> known_; // Descriptions of commands.
  int64_t commands_run_ = 0;
};

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_FUZZ_GUARDEDRUN_H
