//===- Faults.h - The call that fails ---------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library to be preloaded (LD_PRELOAD). The n-th call of one function fails,
// does less than it was asked for, or does not happen because the process is
// killed before it. All other calls are the C library's.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_LIB_FAULTS_H
#define CS336_TEST_LIB_FAULTS_H

#include <atomic>
#include <dlfcn.h>
#include <string>

namespace cs336::fault_injection {

enum class Fault { None, Fail, Short, Kill, FailFromThen };

/// Data that another process reads too.
struct Progress {
  std::atomic<long> calls = 0; // Calls of the chosen function.
  std::atomic<int> exempt = 0; // Calls in progress by libraries whose calls must not fail.
};

/// The fault of this process. An interposed function has nothing but globals.
struct Plan {
  std::string function, folder;
  long number = 0; // The number of the call, from 1 on.
  Fault fault = Fault::None;
  Progress own;
  Progress *progress = &own;
  /// Returns whether `function` is "malloc", which stands for all functions that allocate.
  bool isAboutMemory = false;
};
extern Plan plan;

/// Chooses the `number`-th call of `function`, on files below `folder` if it is one on files.
void choose(const char *function, long number, Fault fault, const char *folder);

/// Counts a call of the function that was chosen. Returns its fault; does not return where the process ends before it.
Fault countCall();

/// Returns the function that is called without the preloaded library.
template <typename Function>
Function *findNext(Function *, const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

} // namespace cs336::fault_injection

#endif // CS336_TEST_LIB_FAULTS_H
