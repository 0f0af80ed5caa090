//===- PeerProcess.cpp - A process that answers lines with lines ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Peer/PeerProcess.h"

#include "cs336/Bench/Progress/Interruption.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cs336::bench;
namespace json = llvm::json;

absl::StatusOr<std::unique_ptr<PeerProcess>> PeerProcess::start(llvm::ArrayRef<std::string> command) {
  std::array<int, 2> toChild, fromChild;
  if (pipe2(toChild.data(), O_CLOEXEC) != 0)
    return absl::ErrnoToStatus(errno, "a pipe cannot be made");
  if (pipe2(fromChild.data(), O_CLOEXEC) != 0) {
    int error = errno;
    close(toChild[0]);
    close(toChild[1]);
    return absl::ErrnoToStatus(error, "a pipe cannot be made");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, toChild[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fromChild[1], STDOUT_FILENO);
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t process = 0;
  // A group of its own: ranks that it starts end with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  int error = posix_spawnp(&process, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(toChild[0]);
  close(fromChild[1]);
  if (error != 0) {
    close(toChild[1]);
    close(fromChild[0]);
    return absl::NotFoundError(absl::StrCat(command.front(), " cannot be started: ", std::strerror(error)));
  }
  // Writing to a process that has ended must return an error instead of ending this process.
  std::signal(SIGPIPE, SIG_IGN);
  return std::unique_ptr<PeerProcess>(new PeerProcess(command.front(), process, toChild[1], fromChild[0]));
}

PeerProcess::~PeerProcess() {
  close(input);
  close(output);
  waitpid(process, nullptr, 0);
}

absl::Status PeerProcess::endedWithoutAnswer() const {
  return absl::UnavailableError(absl::StrCat(program,
                                             " ended without an answer; its messages are on the standard error stream, "
                                             "and cs336-bench doctor --peer-python lists what it lacks"));
}

absl::Status PeerProcess::writeLine(llvm::StringRef line) const {
  std::string text = (line + "\n").str();
  for (size_t written = 0; written != text.size();) {
    ssize_t count = write(input, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      int error = errno;
      absl::Status status = checkInterruption();
      status.Update(error == EPIPE ? endedWithoutAnswer()
                                   : absl::UnavailableError(absl::StrCat(program, ": ", std::strerror(error))));
      return status;
    }
    written += count;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> PeerProcess::readLine(std::optional<double> timeoutSeconds) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  auto getRemaining = [&] {
    if (!timeoutSeconds)
      return -1;
    double remaining = *timeoutSeconds - std::chrono::duration<double>(Clock::now() - start).count();
    return static_cast<int>(std::clamp(remaining * 1e3, 0.0, 1e9));
  };
  std::array<char, 4096> buffer;
  for (;;) {
    if (size_t end = pending.find('\n'); end != std::string::npos) {
      std::string line = pending.substr(0, end);
      pending.erase(0, end + 1);
      return line;
    }
    if (absl::Status status = waitForInput(output, getRemaining()); !status.ok()) {
      // Its answer is no longer needed. A process that hangs may ignore SIGTERM.
      kill(-process, absl::IsDeadlineExceeded(status) ? SIGKILL : SIGTERM);
      return status;
    }
    ssize_t count = read(output, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return endedWithoutAnswer();
    pending.append(buffer.data(), count);
  }
}

absl::StatusOr<json::Object> PeerProcess::ask(json::Object question, std::optional<double> timeoutSeconds) {
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(question));
  if (absl::Status status = writeLine(text); !status.ok())
    return status;
  absl::StatusOr<std::string> line = readLine(timeoutSeconds);
  if (!line.ok())
    return line.status();
  llvm::Expected<json::Value> answer = json::parse(*line);
  if (answer && answer->getAsObject())
    return std::move(*answer->getAsObject());
  if (!answer)
    llvm::consumeError(answer.takeError());
  return absl::DataLossError(absl::StrCat(program, " did not answer with a JSON object: ", line->substr(0, 200)));
}
