//===- Mesh.h - Connections between all pairs of ranks ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_TCP_MESH_H
#define CS336_RUNTIME_COMM_TCP_MESH_H

#include "comm/tcp/Messages.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include <array>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cs336::runtime {

/// The blocks that a rank sends to another, and receives from it, in one
/// exchange: up to two each way, in this order. Both ranks must agree on the sizes.
struct PeerTransfer {
  int peer;
  std::array<asio::const_buffer, 2> sent;
  std::array<asio::mutable_buffer, 2> received;
};

/// Connections between all pairs of ranks. One thread uses it, but for Cancel().
class Mesh {
public:
  Mesh(int rank, int size) : rank_(rank), sockets_(size), acceptor_(context_), unfinished_(size) {}

  /// Listens for other ranks on an address of this host. Returns the port.
  absl::StatusOr<int> Listen(const asio::ip::address &address);

  /// Connects to all other ranks, which listen at `peers`. Both sides show each
  /// other the secret of the pair; other connections are closed.
  absl::Status Connect(absl::Span<const PeerAddress> peers, absl::Duration timeout);

  /// Sends and receives everything, or returns an error: UNAVAILABLE if a rank
  /// has closed its connection, DEADLINE_EXCEEDED if one neither sends nor
  /// receives for `timeout`, CANCELLED after Cancel(). Each of the first two
  /// names the rank. After an error the connections are of no use.
  absl::Status Exchange(absl::Span<const PeerTransfer> transfers, absl::Duration timeout);

  /// Ends the exchange that is running, and all later ones. Any thread may call
  /// it.
  void Cancel();

private:
  struct Handshake;

  void Accept(absl::Span<const PeerAddress> peers);
  /// Admits a connection if it shows the secret of its pair.
  void Admit(std::shared_ptr<Handshake> handshake, absl::Span<const PeerAddress> peers);
  void ConnectTo(int peer, const PeerAddress &address);
  /// Ends one of a rank's sends and receives.
  void Finish(int peer, asio::error_code error);
  /// Returns "rank 1, rank 3": the ranks with sends or receives that have not ended.
  std::string NameUnfinished() const;
  /// Runs handlers until all sends and receives have ended. Returns the first error, after which none is left that
  /// refers to a caller's memory.
  absl::Status Run(absl::Duration timeout);

  int rank_;
  asio::io_context context_{1};
  std::vector<std::optional<asio::ip::tcp::socket>> sockets_; // By rank; none for this one.
  asio::ip::tcp::acceptor acceptor_;
  std::list<std::shared_ptr<Handshake>> strangers_; // Connections that have not shown a secret.
  std::vector<int> unfinished_;                     // Sends and receives, by rank.
  int64_t progress_ = 0;                            // Grows with what is sent and received.
  absl::Status error_;
  std::atomic<bool> is_cancelled_ = false;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_TCP_MESH_H
