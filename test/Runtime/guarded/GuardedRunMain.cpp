//===- GuardedRunMain.cpp - Programs between guard pages ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// guarded-run FILE...: runs every command of unchanged executables for the CPU
// on operands that begin or end next to a page that cannot be accessed.
// AddressSanitizer does not check machine code of the compiler. Here, an access
// outside of an operand ends the process by SIGSEGV, after the name of the
// file.
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"
#include "fuzz/GuardedRun.h"

#include <cstdio>

using namespace cs336::runtime;

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: guarded-run FILE...\n");
    return 2;
  }
  testing::GuardedRunner runner;
  for (int i = 1; i != argc; ++i) {
    std::printf("%s\n", argv[i]);
    std::fflush(stdout);
    auto executable = Executable::Load(argv[i]);
    absl::Status status = executable.ok() ? runner.Run(**executable) : executable.status();
    if (!status.ok()) {
      std::fprintf(stderr, "error: %s: %s\n", argv[i], status.ToString().c_str());
      return 1;
    }
  }
  std::printf("%lld different commands\n", static_cast<long long>(runner.commands_run()));
  return 0;
}
