//===- FaultTrials.cpp - A program run many times, each with one fault ----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With the environment variable CS336_FAULT_TRIALS, which names a socket's file
// descriptor, the program stops before main. For each line that comes
//
//   <function> <number of the call> <fault> <folder>
//
// a fork of it runs main with that fault; the answer is the fork's wait status
// and the number of calls of the function. Starting the program, which takes
// longer than what it does, happens once.
//
//===----------------------------------------------------------------------===//

#include "Faults.h"
#include "SystemCallFaults.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cs336::fault_injection;

namespace {

constexpr unsigned kSecondsUntilHang = 60;

using Main = int (*)(int, char **, char **);
Main programMain;

struct Trial {
  char function[64], folder[4096];
  long number;
  int fault;
};

[[noreturn]] void runMain(const Trial &trial, bool isTraced, int argc, char **argv, char **environment) {
  if (isTraced)
    letParentTrace();
  alarm(kSecondsUntilHang);
  if (!isTraced)
    choose(trial.function, trial.number, static_cast<Fault>(trial.fault), trial.folder);
  exit(programMain(argc, argv, environment));
}

int serve(int argc, char **argv, char **environment) {
  const char *variable = getenv("CS336_FAULT_TRIALS");
  if (!variable)
    return programMain(argc, argv, environment);
  FILE *requests = fdopen(atoi(variable), "r");
  void *shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!requests || shared == MAP_FAILED)
    abort();
  fcntl(fileno(requests), F_SETFD, FD_CLOEXEC);
  unsetenv("CS336_FAULT_TRIALS");
  plan.progress = new (shared) Progress;

  Trial trial;
  while (fscanf(requests, "%63s %ld %d %4095s", trial.function, &trial.number, &trial.fault, trial.folder) == 4) {
    long systemCall = findSystemCall(trial.function);
    plan.progress->calls = 0;
    plan.progress->exempt = 0;
    pid_t child = fork();
    if (child < 0)
      abort();
    if (child == 0)
      runMain(trial, systemCall >= 0, argc, argv, environment);
    int status = 0;
    if (systemCall >= 0)
      status = traceUntilEnd(child, systemCall, trial.number, static_cast<Fault>(trial.fault));
    else
      waitpid(child, &status, 0);
    dprintf(fileno(requests), "%d %ld\n", status, plan.progress->calls.load());
  }
  _exit(0);
}

} // namespace

extern "C" int __libc_start_main(Main main, int argc, char **argv, void (*init)(), void (*fini)(), void (*linkerFini)(),
                                 void *stackEnd) {
  programMain = main;
  static auto *next = findNext(&__libc_start_main, "__libc_start_main");
  return next(serve, argc, argv, init, fini, linkerFini, stackEnd);
}
