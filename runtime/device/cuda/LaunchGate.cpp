//===- LaunchGate.cpp - A run that waits for its launch -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/LaunchGate.h"

#include "status/StatusMacros.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace cs336::runtime {

class LaunchGate::State {
public:
  explicit State(absl::Duration limit) : limit_(limit) {}

  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }

  /// The enqueued host function. `owner` is a shared pointer on the heap, which this deletes. A thread of the driver
  /// calls it, where CUDA must not be used. After a fault of the device the driver does not call it, and the state
  /// stays allocated until the process ends.
  static void WaitUntilOpen(void *owner) {
    std::unique_ptr<std::shared_ptr<State>> state(static_cast<std::shared_ptr<State> *>(owner));
    (*state)->Wait();
  }

private:
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait_for(lock, absl::ToChronoNanoseconds(limit_), [this] { return is_open_; });
  }

  absl::Duration limit_;
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false; // Guarded by mutex_.
};

LaunchGate::LaunchGate(std::shared_ptr<State> state) : state_(std::move(state)) {}

LaunchGate::~LaunchGate() {
  if (state_)
    state_->Open();
}

absl::StatusOr<LaunchGate> LaunchGate::Close(const CudaContext &context, absl::Duration limit) {
  auto state = std::make_shared<State>(limit);
  auto owner = std::make_unique<std::shared_ptr<State>>(state);
  CS336_RETURN_IF_ERROR(context.driver().LaunchHostFunc(context.stream(), &State::WaitUntilOpen, owner.get()));
  owner.release(); // The host function deletes it, and may have done so.
  return LaunchGate(std::move(state));
}

} // namespace cs336::runtime
