//===- ServiceThread.cpp - A thread that serves connections ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/tcp/ServiceThread.h"

#include "parallel/SignalsBlocked.h"

#include "absl/strings/str_cat.h"

#include <system_error>

namespace cs336::runtime {

absl::Status ServiceThread::Start() {
  SignalsBlocked inherited;
  try {
    thread_ = std::thread([this] { context.run(); });
  } catch (const std::system_error &error) {
    return absl::ResourceExhaustedError(absl::StrCat("a thread for connections does not start: ", error.what()));
  }
  return absl::OkStatus();
}

void ServiceThread::Stop() {
  work_.reset();
  context.stop();
  if (thread_.joinable())
    thread_.join();
}

} // namespace cs336::runtime
