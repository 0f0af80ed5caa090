//===- MessageStream.h - Messages of a connection ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_TCP_MESSAGESTREAM_H
#define CS336_RUNTIME_COMM_TCP_MESSAGESTREAM_H

#include "absl/status/statusor.h"

#include <array>
#include <asio/ip/tcp.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace cs336::runtime {

/// JSON objects over a connection, each after its length in four bytes. All
/// functions are called by the thread that runs the socket's context.
class MessageStream : public std::enable_shared_from_this<MessageStream> {
public:
  using Handler = std::function<void(absl::StatusOr<nlohmann::json>)>;

  /// Refuses to receive messages of more than `max_bytes`.
  MessageStream(asio::ip::tcp::socket socket, uint32_t max_bytes);

  /// Calls `handler` with the next message, or with an error, after which the
  /// connection is of no use.
  void Receive(Handler handler);
  void Send(const nlohmann::json &message);
  void set_max_bytes(uint32_t max_bytes) { max_bytes_ = max_bytes; }
  bool HasUnsent() const { return !unsent_.empty(); }
  void Close();

  asio::ip::tcp::socket &socket() { return socket_; }

private:
  void SendNext();
  /// Parses the message in body_.
  absl::StatusOr<nlohmann::json> Parse() const;

  asio::ip::tcp::socket socket_;
  uint32_t max_bytes_;
  std::array<unsigned char, 4> length_;
  std::string body_;
  std::deque<std::string> unsent_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_TCP_MESSAGESTREAM_H
