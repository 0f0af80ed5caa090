//===- ServiceThread.h - A thread that serves connections -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_TCP_SERVICETHREAD_H
#define CS336_RUNTIME_COMM_TCP_SERVICETHREAD_H

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <future>
#include <thread>

namespace cs336::runtime {

/// A thread that runs the handlers of a context. Blocks all signals, which go
/// to the program's own threads.
class ServiceThread {
public:
  ServiceThread() : work_(context.get_executor()) {}
  ~ServiceThread() { Stop(); }

  /// Returns RESOURCE_EXHAUSTED if the system starts no more threads.
  absl::Status Start();

  /// Runs `work` on the thread and waits for it.
  template <typename Work>
  void Run(const Work &work) {
    std::promise<void> done;
    asio::post(context, [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  /// Waits up to `limit` until `is_done`, which the thread evaluates, returns
  /// true.
  template <typename Condition>
  void WaitUntil(const Condition &is_done, absl::Duration limit) {
    for (absl::Time end = absl::Now() + limit; absl::Now() < end; absl::SleepFor(absl::Milliseconds(1))) {
      bool done = false;
      Run([&] { done = is_done(); });
      if (done)
        return;
    }
  }

  /// Ends the thread. Handlers that have not run do not run any more.
  void Stop();

  asio::io_context context{1};

private:
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_TCP_SERVICETHREAD_H
