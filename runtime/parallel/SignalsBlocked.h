//===- SignalsBlocked.h - Code that no signal interrupts --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_PARALLEL_SIGNALSBLOCKED_H
#define CS336_RUNTIME_PARALLEL_SIGNALSBLOCKED_H

#include <csignal>

namespace cs336::runtime {

/// Delays the signals of the current thread while it lives, except those that report the thread's own faults.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t signals;
    sigfillset(&signals);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
      sigdelset(&signals, fault);
    pthread_sigmask(SIG_BLOCK, &signals, &previous_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
  sigset_t previous_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_PARALLEL_SIGNALSBLOCKED_H
