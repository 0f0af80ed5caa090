//===- ServiceThread.cpp - A thread that serves connections ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/tcp/ServiceThread.h"

#include "absl/strings/str_cat.h"

#include <csignal>
#include <system_error>

namespace cs336::runtime {

absl::Status ServiceThread::Start() {
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  absl::Status status;
  try {
    thread_ = std::thread([this] { context.run(); });
  } catch (const std::system_error &error) {
    status = absl::ResourceExhaustedError(absl::StrCat("a thread for connections does not start: ", error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  return status;
}

void ServiceThread::Stop() {
  work_.reset();
  context.stop();
  if (thread_.joinable())
    thread_.join();
}

} // namespace cs336::runtime
