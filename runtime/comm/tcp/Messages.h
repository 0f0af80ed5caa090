//===- Messages.h - Messages between ranks and their rendezvous -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_TCP_MESSAGES_H
#define CS336_RUNTIME_COMM_TCP_MESSAGES_H

#include "absl/status/status.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cs336::runtime {

/// The version of the messages, and of what ranks send each other.
inline constexpr int kProtocol = 2;

/// Larger messages of a rank, and of the rendezvous, are refused. A table of 10,000 ranks fits.
inline constexpr uint32_t kMaxControlBytes = 2 << 20;

/// The first message of a rank.
struct JoinRequest {
  int protocol;
  std::string token;
  int rank;
  int size;
  /// The port on which the rank listens for other ranks.
  int port;
};

/// Where a rank listens, and the secret that the two ranks of a pair show each
/// other.
struct PeerAddress {
  std::string address;
  int port = 0;
  std::string secret;
};

nlohmann::json JoinMessage(const JoinRequest &request);
/// Returns nothing for any other message.
std::optional<JoinRequest> ReadJoinMessage(const nlohmann::json &message);

/// The answer once all ranks have joined.
nlohmann::json PeersMessage(const std::vector<PeerAddress> &peers);
std::optional<std::vector<PeerAddress>> ReadPeersMessage(const nlohmann::json &message);

/// The reason why the group has ended, or why a rank is refused. A reason of more than 64 KiB is cut.
nlohmann::json FailureMessage(const absl::Status &failure);
/// Returns OK for any other message.
absl::Status ReadFailureMessage(const nlohmann::json &message);

/// A heartbeat, which both sides send. A rank adds how many collectives it has
/// begun on its device.
nlohmann::json AliveMessage(int64_t progress = 0);
/// Returns nothing for any other message.
std::optional<int64_t> ReadAliveMessage(const nlohmann::json &message);
/// The rank leaves the group.
nlohmann::json LeaveMessage();
bool IsLeaveMessage(const nlohmann::json &message);
/// The rendezvous ends without a failure.
nlohmann::json EndMessage();
bool IsEndMessage(const nlohmann::json &message);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_TCP_MESSAGES_H
