//===- ControlLink.h - A rank's connection to the rendezvous ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_TCP_CONTROLLINK_H
#define CS336_RUNTIME_COMM_TCP_CONTROLLINK_H

#include "comm/TimeLimits.h"
#include "comm/tcp/MessageStream.h"
#include "comm/tcp/Messages.h"
#include "comm/tcp/ServiceThread.h"
#include "cs336/runtime/RankEnvironment.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <asio/steady_timer.hpp>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace cs336::runtime {

/// A rank's connection to the rendezvous. A thread sends heartbeats, and
/// receives the failure of the group.
class ControlLink {
public:
  /// Connects, again and again until the rendezvous listens or `timeout` is
  /// over.
  static absl::StatusOr<std::unique_ptr<ControlLink>> Connect(const RankEnvironment &environment,
                                                              absl::Duration timeout);

  /// Leaves the group.
  ~ControlLink();

  /// Returns this host's address of the connection.
  asio::ip::address local_address() const { return local_address_; }

  /// Joins the group, with the port on which this rank listens for others.
  /// Returns where all ranks listen once all have joined. Addresses are as seen
  /// from this host.
  absl::StatusOr<std::vector<PeerAddress>> Join(int port);

  /// Calls a function once when the group fails, from another thread, or at
  /// once if it has failed.
  void OnFailure(std::function<void()> handler);

  /// Waits up to `limit` for a failure of the group, and returns it, or OK.
  absl::Status WaitForFailure(absl::Duration limit) const;

  /// Reports why this rank cannot go on. It is the failure of the group, unless
  /// there is one.
  void Report(const absl::Status &failure);

  /// Sends this number with the next heartbeats, see
  /// Communicator::NoteProgress().
  void NoteProgress(int64_t collectives) { progress_ = collectives; }

private:
  ControlLink(RankEnvironment environment, absl::Duration timeout);

  void Receive();
  void Handle(const nlohmann::json &message);
  /// Sends a heartbeat, and checks that of the rendezvous.
  void Tick();
  void Fail(absl::Status failure);

  RankEnvironment environment_;
  TimeLimits limits_;
  ServiceThread thread_; // Its context must outlive the connection.
  asio::ip::address local_address_;
  std::shared_ptr<MessageStream> stream_;
  asio::steady_timer timer_;
  std::atomic<int64_t> progress_{0};
  absl::Time last_heard_;  // Used by the thread only.
  bool has_ended_ = false; // The same; without a failure.

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<PeerAddress> peers_;
  absl::Status failure_;
  std::function<void()> on_failure_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_TCP_CONTROLLINK_H
