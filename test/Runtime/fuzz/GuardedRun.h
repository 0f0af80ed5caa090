//===- GuardedRun.h - Commands on operands with guard pages -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a session's memory, reads beyond an operand mostly hit another value, and
// nothing detects them. Here each command runs on copies of its operands that
// begin or end next to a page that cannot be accessed, so that an access
// outside of them raises SIGSEGV. This also covers generated code, which
// sanitizers do not instrument.
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
/// zeros otherwise. Programs with integers also run with large numbers in
/// variables and in inputs without a bound.
class GuardedRunner {
public:
  /// Runs the commands of all entries. Skips those that equal one that it has run before, in this program or
  /// another, unless integers determine the bytes that they access. Returns an error if the device rejects
  /// the program, or if it needs more memory than `kMostBytes`.
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
