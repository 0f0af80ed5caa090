//===- SystemCallFaults.h - System calls that fail on demand ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dynamic linker and the C library make system calls that no preloaded
// library sees. A parent that traces the process sees all of them.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_LIB_SYSTEMCALLFAULTS_H
#define CS336_TEST_LIB_SYSTEMCALLFAULTS_H

#include "Faults.h"

#include <sys/types.h>

namespace cs336::fault_injection {

/// Returns the number of the system call of that name, or -1 if it is none of those that can fail here.
long findSystemCall(const char *name);

/// Stops the calling process, for its parent to call traceUntilEnd().
void letParentTrace();

/// Lets the child run on. The `number`-th call of `systemCall`, in any of its threads, fails as where memory is
/// exhausted, and with Fault::FailFromThen all that follow. Counts the calls in plan.progress, and returns the child's
/// wait status.
int traceUntilEnd(pid_t child, long systemCall, long number, Fault fault);

} // namespace cs336::fault_injection

#endif // CS336_TEST_LIB_SYSTEMCALLFAULTS_H
