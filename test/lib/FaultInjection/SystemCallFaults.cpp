//===- SystemCallFaults.cpp - System calls that fail on demand ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SystemCallFaults.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cs336::fault_injection;

#ifdef __x86_64__

namespace {

struct Failing {
  const char *name;
  long number;
  int error;
};
constexpr Failing kSystemCalls[] = {
    {"mmap", SYS_mmap, ENOMEM},       {"mprotect", SYS_mprotect, ENOMEM},         {"clone3", SYS_clone3, EAGAIN},
    {"madvise", SYS_madvise, ENOMEM}, {"memfd_create", SYS_memfd_create, EMFILE},
};

int errorOf(long systemCall) {
  for (const Failing &each : kSystemCalls)
    if (each.number == systemCall)
      return each.error;
  return EINVAL;
}

/// Handles a traced process, which is stopped at the entry or at the exit of a system call.
class SystemCallStops {
public:
  SystemCallStops(long systemCall, long number, Fault fault) : systemCall(systemCall), number(number), fault(fault) {}

  void handle(pid_t thread) {
    user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0)
      return;
    if (thread == failing) {
      registers.rax = -static_cast<unsigned long long>(errorOf(systemCall));
      ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
      failing = 0;
      return;
    }
    // At an entry, the result is not there yet.
    bool isEntry = registers.rax == static_cast<unsigned long long>(-ENOSYS);
    if (!isEntry || static_cast<long>(registers.orig_rax) != systemCall || plan.progress->exempt != 0)
      return;
    long call = ++plan.progress->calls;
    if (call < number || number == 0 || (call > number && fault != Fault::FailFromThen))
      return;
    registers.orig_rax = -1;
    ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
    failing = thread;
  }

private:
  long systemCall, number;
  Fault fault;
  pid_t failing = 0; // The thread in the call that fails.
};

} // namespace

long cs336::fault_injection::findSystemCall(const char *name) {
  for (const Failing &each : kSystemCalls)
    if (strcmp(each.name, name) == 0)
      return each.number;
  return -1;
}

void cs336::fault_injection::letParentTrace() {
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  raise(SIGSTOP);
}

int cs336::fault_injection::traceUntilEnd(pid_t child, long systemCall, long number, Fault fault) {
  int status;
  waitpid(child, &status, 0);
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
  ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  SystemCallStops stops(systemCall, number, fault);
  while (pid_t thread = waitpid(-1, &status, __WALL)) {
    if (thread == child && !WIFSTOPPED(status))
      return status;
    if (thread < 0 || !WIFSTOPPED(status))
      continue;
    long signal = WSTOPSIG(status);
    bool isSystemCall = signal == (SIGTRAP | 0x80), isEvent = status >> 16 != 0;
    if (isSystemCall)
      stops.handle(thread);
    if (isSystemCall || isEvent || signal == SIGSTOP)
      signal = 0;
    ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
  }
  return status;
}

#else

// The registers are those of one architecture.
long cs336::fault_injection::findSystemCall(const char *) { return -1; }
void cs336::fault_injection::letParentTrace() {}
int cs336::fault_injection::traceUntilEnd(pid_t, long, long, Fault) { return 0; }

#endif
