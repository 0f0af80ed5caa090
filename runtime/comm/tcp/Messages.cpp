//===- Messages.cpp - Messages between ranks and their rendezvous ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/tcp/Messages.h"

namespace cs336::runtime {

using nlohmann::json;

namespace {

/// Returns the member of an object if it has the type that was asked for.
std::optional<int> FindInteger(const json &object, const char *key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer())
    return std::nullopt;
  auto value = found->get<int64_t>();
  return value == static_cast<int>(value) ? std::optional(static_cast<int>(value)) : std::nullopt;
}

std::optional<std::string> FindText(const json &object, const char *key) {
  auto found = object.find(key);
  return found == object.end() || !found->is_string() ? std::nullopt : std::optional(found->get<std::string>());
}

/// Returns the body of a message of one kind, or null.
const json *FindBody(const json &message, const char *kind) {
  auto found = message.find(kind);
  return found == message.end() ? nullptr : &*found;
}

bool IsKind(const json &message, const char *kind) { return FindBody(message, kind) != nullptr; }

} // namespace

json JoinMessage(const JoinRequest &request) {
  return {{"join",
           {{"protocol", request.protocol},
            {"token", request.token},
            {"rank", request.rank},
            {"size", request.size},
            {"port", request.port}}}};
}

std::optional<JoinRequest> ReadJoinMessage(const json &message) {
  const json *body = FindBody(message, "join");
  if (!body || !body->is_object())
    return std::nullopt;
  std::optional<int> protocol = FindInteger(*body, "protocol"), rank = FindInteger(*body, "rank"),
                     size = FindInteger(*body, "size"), port = FindInteger(*body, "port");
  std::optional<std::string> token = FindText(*body, "token");
  if (!protocol || !rank || !size || !port || !token)
    return std::nullopt;
  return JoinRequest{*protocol, *std::move(token), *rank, *size, *port};
}

json PeersMessage(const std::vector<PeerAddress> &peers) {
  json table = json::array();
  for (const PeerAddress &peer : peers)
    table.push_back({{"address", peer.address}, {"port", peer.port}, {"secret", peer.secret}});
  return {{"peers", std::move(table)}};
}

std::optional<std::vector<PeerAddress>> ReadPeersMessage(const json &message) {
  const json *table = FindBody(message, "peers");
  if (!table || !table->is_array())
    return std::nullopt;
  std::vector<PeerAddress> peers;
  for (const json &peer : *table) {
    if (!peer.is_object())
      return std::nullopt;
    std::optional<std::string> address = FindText(peer, "address"), secret = FindText(peer, "secret");
    std::optional<int> port = FindInteger(peer, "port");
    if (!address || !port || !secret)
      return std::nullopt;
    peers.push_back({*std::move(address), *port, *std::move(secret)});
  }
  return peers;
}

json FailureMessage(const absl::Status &failure) {
  constexpr size_t kMostReasonBytes = 64 << 10;
  std::string reason(failure.message().substr(0, kMostReasonBytes));
  return {{"failure", {{"code", static_cast<int>(failure.code())}, {"reason", std::move(reason)}}}};
}

absl::Status ReadFailureMessage(const json &message) {
  const json *body = FindBody(message, "failure");
  if (!body)
    return absl::OkStatus();
  std::optional<int> code = body->is_object() ? FindInteger(*body, "code") : std::nullopt;
  std::optional<std::string> reason = body->is_object() ? FindText(*body, "reason") : std::nullopt;
  bool is_error = code.value_or(0) != 0;
  return absl::Status(is_error ? static_cast<absl::StatusCode>(*code) : absl::StatusCode::kUnavailable,
                      reason.value_or("the group has ended"));
}

json AliveMessage(int64_t progress) { return {{"alive", progress}}; }

std::optional<int64_t> ReadAliveMessage(const json &message) {
  const json *body = FindBody(message, "alive");
  return body && body->is_number_integer() ? std::optional(body->get<int64_t>()) : std::nullopt;
}

json LeaveMessage() { return {{"leave", true}}; }
bool IsLeaveMessage(const json &message) { return IsKind(message, "leave"); }
json EndMessage() { return {{"end", true}}; }
bool IsEndMessage(const json &message) { return IsKind(message, "end"); }

} // namespace cs336::runtime
