//===- WorkQueue.cpp - Work behind a host function ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/WorkQueue.h"

#include <thread>
#include <utility>

namespace cs336::runtime::testing {

static thread_local bool is_this_thread = false;

bool WorkQueue::IsThisThread() { return is_this_thread; }

WorkQueue &WorkQueue::Get() {
  static WorkQueue *queue = new WorkQueue; // Its thread may outlive static objects.
  return *queue;
}

void WorkQueue::Add(std::function<void()> work) {
  std::lock_guard<std::mutex> lock(mutex_);
  work_.push_back(std::move(work));
  if (!std::exchange(is_running_, true))
    std::thread(&WorkQueue::Run, this).detach();
}

bool WorkQueue::AddBehind(const std::function<void()> &work) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (is_running_)
    work_.push_back(work);
  return is_running_;
}

bool WorkQueue::IsDone() {
  std::lock_guard<std::mutex> lock(mutex_);
  return !is_running_;
}

void WorkQueue::WaitUntilDone() {
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [this] { return !is_running_; });
}

void WorkQueue::Run() {
  is_this_thread = true;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!work_.empty()) {
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    work = nullptr; // Releases the captured values before the work counts as done.
    lock.lock();
  }
  is_running_ = false;
  done_.notify_all();
}

} // namespace cs336::runtime::testing
