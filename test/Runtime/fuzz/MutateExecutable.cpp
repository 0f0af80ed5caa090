//===- MutateExecutable.cpp - Runs of tampered executables ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mutate-executable FILE TRIALS [FIRST]: changes a few fields of a program for
// the CPU, reseals it, loads it, and runs it if it loads, with guard pages
// around every operand. Trial n is the same each time. An access to other
// memory ends the process with a message that names the trial.
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/format/ExecutableFile.h"
#include "fuzz/ExecutableMutator.h"
#include "fuzz/GuardedRun.h"
#include "fuzz/SessionRun.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

using namespace cs336;
using namespace cs336::runtime;

namespace {

volatile sig_atomic_t current_trial = 0;

/// Calls only functions that are safe in a signal handler.
void ReportFault(int) {
  char text[64] = "trial ";
  char *end = std::to_chars(text + 6, text + 40, static_cast<int>(current_trial)).ptr;
  constexpr char kRest[] = " accessed memory of others\n";
  for (char c : kRest)
    *end++ = c;
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, end - text - 1);
  _exit(1);
}

void CatchFaults() {
  struct sigaction action = {};
  action.sa_handler = ReportFault;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigaction(signal, &action, nullptr);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: mutate-executable FILE TRIALS [FIRST]\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  auto original = testing::Unpack(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  if (!original) {
    std::fprintf(stderr, "'%s' is not an executable\n", argv[1]);
    return 2;
  }
  int first = argc == 4 ? std::atoi(argv[3]) : 0, end = first + std::atoi(argv[2]);
  CatchFaults();
  int loaded = 0, ran = 0;
  testing::GuardedRunner runner;
  for (int trial = first; trial != end; ++trial) {
    current_trial = trial;
    format::ExecutableT changed(*original);
    testing::ExecutableMutator mutator(trial);
    for (int changes = 1 + trial % 3; changes != 0; --changes)
      mutator.Mutate(changed);
    std::string sealed = format::Serialize(changed);
    auto executable = Executable::FromBytes({reinterpret_cast<const uint8_t *>(sealed.data()), sealed.size()});
    if (!executable.ok())
      continue;
    ++loaded;
    constexpr int kSessionEvery = 16; // Sessions take longer than commands.
    absl::Status status = runner.Run(**executable);
    if (trial % kSessionEvery == 0)
      status.Update(testing::RunInSession(*executable));
    ran += status.ok();
  }
  std::printf("%d trials: %d loaded, %d ran, with %lld commands in all\n", end - first, loaded, ran,
              static_cast<long long>(runner.commands_run()));
  return 0;
}
