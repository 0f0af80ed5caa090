//===- Interruption.cpp - Stops where results can be kept -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Progress/Interruption.h"

#include "llvm/Support/Signals.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace cs336;
using namespace cs336::bench;

static constexpr llvm::StringLiteral kNotice = ": stops at the next safe place; another interruption ends it at once\n";
static constexpr int64_t kSecond = 1'000'000'000;

// A signal handler can only use globals. Any thread may run it.
static std::atomic<int> caughtSignal = 0;
/// The time by the monotonic clock in nanoseconds; 0 means never.
static std::atomic<int64_t> caughtAt = 0;
/// A descriptor that becomes readable after a signal, so that waits for other files end too. `poll` ignores −1.
static std::atomic<int> wakeUp = -1;
static std::atomic<const char *> toolName = "";
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free &&
              std::atomic<const char *>::is_always_lock_free);

/// Prints that this program will stop. Calls only functions that a signal handler may call.
static void printNotice() {
  const char *tool = toolName;
  auto makePart = [](const char *text, size_t size) { return iovec{const_cast<char *>(text), size}; };
  std::array<iovec, 3> parts{makePart("\n", 1), makePart(tool, strlen(tool)), makePart(kNotice.data(), kNotice.size())};
  (void)!writev(STDERR_FILENO, parts.data(), parts.size());
}

static void handleSignal(int signal) {
  int error = errno;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  int64_t now = time.tv_sec * kSecond + time.tv_nsec, before = 0;
  if (caughtAt.compare_exchange_strong(before, now)) {
    caughtSignal = signal;
    (void)eventfd_write(wakeUp, 1);
    printNotice();
  } else if (now - before > kSecond) {
    // LLVM's own handler would run the action that the signal had when the program started: it ignores SIGINT if a
    // shell started the program in the background.
    llvm::sys::RunInterruptHandlers(); // Removes temporary files.
    (void)std::signal(signal, SIG_DFL);
    (void)raise(signal);
  }
  errno = error;
}

void bench::catchInterruptions(llvm::StringLiteral tool) {
  toolName = tool.data();
  wakeUp = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action = {};
  action.sa_handler = handleSignal;
  // Other waits continue.
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGINT, SIGTERM})
    sigaction(signal, &action, nullptr);
  // A terminal that closes sends SIGHUP, which nohup ignores.
  struct sigaction before = {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
}

void bench::setInterruption(int signal) { caughtSignal = signal; }

int bench::getInterruption() { return caughtSignal; }

absl::Status bench::checkInterruption() {
  return getInterruption() == 0 ? absl::OkStatus() : absl::CancelledError("interrupted");
}

absl::Status bench::waitForInput(int file, int milliseconds) {
  std::array<pollfd, 2> files{{{file, POLLIN, 0}, {wakeUp, POLLIN, 0}}};
  int ready = -1;
  do
    ready = poll(files.data(), files.size(), milliseconds);
  while (ready < 0 && errno == EINTR);
  absl::Status status = checkInterruption();
  if (ready == 0)
    status.Update(absl::DeadlineExceededError("nothing to read"));
  return status;
}

void bench::markIfIncomplete(llvm::json::Object &document, const absl::Status &end) {
  if (!end.ok())
    document["incomplete"] = true;
}

absl::Status bench::describeEarlyEnd(const absl::Status &reason, size_t complete, size_t all, llvm::StringRef rest) {
  return absl::Status(reason.code(),
                      absl::StrCat(reason.message(), "; ", all - complete, " of ", all, " ", rest.str()));
}
