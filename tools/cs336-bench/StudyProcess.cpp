//===- StudyProcess.cpp - A command of a study as a process ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyProcess.h"

#include "cs336/Bench/Peer/PeerFailure.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/strings/str_cat.h"

#include <csignal>
#include <sys/syscall.h>
#include <unistd.h>

using namespace cs336::bench;

absl::Status cs336::bench::runStudyLine(const std::string &program, const StudyLine &line,
                                        std::optional<llvm::StringRef> output) {
  llvm::errs() << "$ " << describeLine(line) << "\n";
  std::vector<llvm::StringRef> command{program};
  command.insert(command.end(), line.begin(), line.end());
  std::string message;
  llvm::sys::ProcessInfo process =
      llvm::sys::ExecuteNoWait(program, command, std::nullopt, {std::nullopt, output, std::nullopt}, 0, &message);
  if (process.Pid != 0) {
    // A descriptor that becomes readable when the command has ended. On systems without such descriptors, only the
    // terminal sends a signal to the command.
    int end = static_cast<int>(syscall(SYS_pidfd_open, process.Pid, 0));
    if (end >= 0 && !waitForInput(end).ok())
      kill(process.Pid, getInterruption());
    close(end);
    process = llvm::sys::Wait(process, std::nullopt, &message);
    if (process.ReturnCode == 0)
      return absl::OkStatus();
    if (process.ReturnCode == kPeerMissingExitCode)
      return makePeerMissing(absl::UnavailableError(
          absl::StrCat("see the warning of '", describeLine(line), "' on the standard error stream")));
    if (message.empty())
      message = absl::StrCat("exit code ", process.ReturnCode, "; its messages are on the standard error stream");
  }
  return absl::InternalError(absl::StrCat("'", describeLine(line), "' failed: ", message));
}
