//===- WorkQueue.h - Work behind a host function ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_WORKQUEUE_H
#define CS336_TEST_RUNTIME_WORKQUEUE_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace cs336::runtime::testing {

/// The work of all streams, from a host function on, until all of it is done. A thread runs it in the order in which it
/// was enqueued, which is an order that streams and events allow. Without a host function, work is done where it is
/// enqueued, and the queue stays empty.
class WorkQueue {
public:
  static WorkQueue &Get();

  /// Returns true in the work of the queue, such as a host function.
  static bool IsThisThread();

  void Add(std::function<void()> work);
  /// Adds the work if the queue is not done. Otherwise returns false and leaves the work to the caller.
  bool AddBehind(const std::function<void()> &work);
  bool IsDone();
  void WaitUntilDone();

private:
  void Run();

  std::mutex mutex_;
  std::condition_variable done_;
  // Guarded by mutex_.
  std::deque<std::function<void()>> work_;
  bool is_running_ = false; // A thread runs the work.
};

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_WORKQUEUE_H
