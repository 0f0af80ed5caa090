//===- ExecutableFuzzer.cpp - libFuzzer entry for resealed executables ----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads executables that were changed and resealed, and runs those that load:
// in a session, where AddressSanitizer checks the runtime, and command by
// command with guard pages, which also check machine code.
//
// executable_fuzzer FOLDER uses the programs in FOLDER with their unchanged
// machine code.
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Session.h"
#include "cs336/runtime/format/ExecutableFile.h"
#include "fuzz/ExecutableMutator.h"
#include "fuzz/GuardedRun.h"
#include "fuzz/SessionRun.h"

#include <algorithm>
#include <cstring>

using namespace cs336;
using namespace cs336::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto executable = Executable::FromBytes({data, size});
  if (!executable.ok())
    return 0;
  static testing::GuardedRunner &runner = *new testing::GuardedRunner;
  runner.Run(**executable).IgnoreError();
  testing::RunInSession(*executable).IgnoreError();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  std::unique_ptr<format::ExecutableT> executable = testing::Unpack(data, size);
  if (!executable)
    return 0;
  testing::ExecutableMutator mutator(seed);
  for (unsigned changes = 1 + seed % 3; changes != 0; --changes)
    mutator.Mutate(*executable);
  std::string bytes = format::Serialize(*executable);
  if (bytes.size() > max_size)
    return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
