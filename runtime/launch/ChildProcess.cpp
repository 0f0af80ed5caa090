//===- ChildProcess.cpp - A rank that this process started ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/ChildProcess.h"

#include "status/SystemError.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace cs336::runtime {

namespace {

constexpr int kRead = 0, kWrite = 1;
using Pipe = std::array<int, 2>;

/// Becomes the command. Runs between fork() and exec() of a process with threads, so it may call only functions that
/// are safe in signal handlers. Returns only if this fails; errno then contains the error.
void Become(char *const *arguments, char *const *environment, const cpu_set_t &cores, pid_t parent, int output,
            int error) {
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
    return;
  int input = open("/dev/null", O_RDONLY);
  if (input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(error, STDERR_FILENO) < 0)
    return;
  // Connections of the rendezvous stay with this process. Linux before 5.11 lacks the call.
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  sched_setaffinity(0, sizeof(cores), &cores); // Only for speed: the rank also runs if this fails.
  execvpe(arguments[0], arguments, environment);
}

std::vector<char *> AsPointers(const std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (const std::string &text : texts)
    pointers.push_back(const_cast<char *>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

} // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(const std::vector<std::string> &command,
                                                 const std::vector<std::string> &environment, const cpu_set_t &cores) {
  std::vector<char *> arguments = AsPointers(command), variables = AsPointers(environment);
  // The third pipe carries errno of a failure. It has no writer any more once the child has become the command.
  std::array<Pipe, 3> pipes = {Pipe{-1, -1}, Pipe{-1, -1}, Pipe{-1, -1}};
  auto &[output, error, outcome] = pipes;
  auto close_all = absl::MakeCleanup([&] {
    for (const Pipe &pipe : pipes)
      for (int end : pipe)
        if (end >= 0)
          close(end);
  });
  for (Pipe &pipe : pipes)
    if (pipe2(pipe.data(), O_CLOEXEC) != 0)
      return SystemError({errno, std::system_category()}, "cannot create a pipe for a rank");

  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0)
    return absl::ResourceExhaustedError(absl::StrCat("cannot start a process for a rank: ", strerror(errno)));
  if (pid == 0) {
    Become(arguments.data(), variables.data(), cores, parent, output[kWrite], error[kWrite]);
    int reason = errno;
    (void)!write(outcome[kWrite], &reason, sizeof(reason));
    _exit(127);
  }
  close(std::exchange(outcome[kWrite], -1));
  int reason = 0;
  ssize_t bytes;
  do
    bytes = read(outcome[kRead], &reason, sizeof(reason));
  while (bytes < 0 && errno == EINTR);
  if (bytes == sizeof(reason)) {
    waitpid(pid, nullptr, 0);
    absl::Status status = SystemError({reason, std::system_category()}, absl::StrCat("cannot run '", command[0], "'"));
    if (status.code() == absl::StatusCode::kResourceExhausted)
      return status;
    return reason == EACCES ? absl::PermissionDeniedError(status.message()) : absl::NotFoundError(status.message());
  }
  return ChildProcess{pid, std::exchange(output[kRead], -1), std::exchange(error[kRead], -1)};
}

void ChildProcess::Signal(int signal) const { kill(-pid, signal); }

std::optional<std::string> ChildProcess::Poll() const {
  siginfo_t info = {};
  if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return std::nullopt;
  // The number of the group stays taken until the process is waited for.
  Signal(SIGKILL);
  waitpid(pid, nullptr, 0);
  if (info.si_code == CLD_EXITED)
    return info.si_status == 0 ? "" : absl::StrCat("exit code ", info.si_status);
  return absl::StrCat("signal ", info.si_status, " (", strsignal(info.si_status), ")");
}

} // namespace cs336::runtime
