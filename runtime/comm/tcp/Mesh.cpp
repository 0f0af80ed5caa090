//===- Mesh.cpp - Connections between all pairs of ranks ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/tcp/Mesh.h"

#include "comm/tcp/Endpoint.h"
#include "comm/tcp/Secrets.h"
#include "status/StatusMacros.h"
#include "status/SystemError.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <cstring>

namespace cs336::runtime {

using asio::ip::tcp;

namespace {

/// The most connections that have not shown a secret yet.
constexpr int kMaxMeshStrangers = 256;

std::string NameRank(size_t rank) { return absl::StrCat("rank ", rank); }

/// Sends the last, short segment of a message at once. Otherwise it waits until the peer has acknowledged those before
/// it, and a peer that has nothing to send does so only after about 40 ms.
void SendAtOnce(tcp::socket &socket) {
  asio::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
}

} // namespace

/// A connection whose two ranks show each other their secret.
struct Mesh::Handshake {
  explicit Handshake(tcp::socket socket) : socket(std::move(socket)) {}

  tcp::socket socket;
  // The connecting rank, and the secret.
  std::array<unsigned char, 4> rank;
  std::array<char, kTokenLength> secret;

  auto all() { return std::array{asio::buffer(rank), asio::buffer(secret)}; }
  absl::string_view text() const { return absl::string_view(secret.data(), secret.size()); }
};

absl::StatusOr<int> Mesh::Listen(const asio::ip::address &address) {
  CS336_RETURN_IF_ERROR(runtime::Listen(acceptor_, tcp::endpoint(address, 0)));
  return acceptor_.local_endpoint().port();
}

absl::Status Mesh::Connect(absl::Span<const PeerAddress> peers, absl::Duration timeout) {
  for (int peer = 0; peer != static_cast<int>(peers.size()); ++peer)
    unfinished_[peer] = peer != rank_;
  Accept(peers);
  for (int peer = 0; peer != rank_; ++peer)
    ConnectTo(peer, peers[peer]);
  absl::Status status = Run(timeout);
  asio::error_code ignored;
  acceptor_.close(ignored);
  for (const std::shared_ptr<Handshake> &stranger : strangers_)
    stranger->socket.close(ignored);
  context_.restart();
  context_.poll();
  return status;
}

void Mesh::Accept(absl::Span<const PeerAddress> peers) {
  acceptor_.async_accept([this, peers](asio::error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted)
      return;
    if (error)
      return error_.Update(SystemError(error, "cannot accept the connection of a rank"));
    auto handshake = std::make_shared<Handshake>(std::move(socket));
    if (static_cast<int>(strangers_.size()) < kMaxMeshStrangers) {
      strangers_.push_back(handshake);
      asio::async_read(handshake->socket, handshake->all(), [this, handshake, peers](asio::error_code error, size_t) {
        strangers_.remove(handshake);
        if (!error)
          Admit(handshake, peers);
      });
    }
    Accept(peers);
  });
}

void Mesh::Admit(std::shared_ptr<Handshake> handshake, absl::Span<const PeerAddress> peers) {
  int peer = 0;
  for (unsigned char byte : handshake->rank)
    peer = peer << 8 | byte;
  bool is_expected = peer > rank_ && peer < static_cast<int>(peers.size()) && !sockets_[peer];
  if (!is_expected || !AreEqualSecrets(handshake->text(), peers[peer].secret))
    return;
  sockets_[peer].emplace(std::move(handshake->socket));
  SendAtOnce(*sockets_[peer]);
  asio::async_write(*sockets_[peer], asio::buffer(handshake->secret),
                    [this, handshake, peer](asio::error_code error, size_t) { Finish(peer, error); });
}

void Mesh::ConnectTo(int peer, const PeerAddress &address) {
  absl::StatusOr<tcp::endpoint> endpoint = ResolveEndpoint(context_, address.address, address.port);
  if (!endpoint.ok()) {
    error_.Update(Annotate(endpoint.status(), NameRank(peer)));
    return;
  }
  auto handshake = std::make_shared<Handshake>(tcp::socket(context_));
  for (int i = 0; i != 4; ++i)
    handshake->rank[i] = static_cast<unsigned char>(rank_ >> (24 - 8 * i));
  if (address.secret.size() != handshake->secret.size()) {
    error_.Update(absl::InternalError(absl::StrCat("the secret of rank ", peer, " has the wrong length")));
    return;
  }
  std::memcpy(handshake->secret.data(), address.secret.data(), handshake->secret.size());
  sockets_[peer].emplace(context_);
  sockets_[peer]->async_connect(*endpoint, [=, this](asio::error_code error) {
    if (error)
      return Finish(peer, error);
    SendAtOnce(*sockets_[peer]);
    asio::async_write(*sockets_[peer], handshake->all(), [=, this](asio::error_code error, size_t) {
      if (error)
        return Finish(peer, error);
      std::string expected(handshake->text());
      asio::async_read(*sockets_[peer], asio::buffer(handshake->secret),
                       [this, peer, handshake, expected](asio::error_code error, size_t) {
                         bool is_peer = !error && AreEqualSecrets(handshake->text(), expected);
                         Finish(peer, error || is_peer ? error : asio::error::access_denied);
                       });
    });
  });
}

void Mesh::Finish(int peer, asio::error_code error) {
  --unfinished_[peer];
  ++progress_;
  if (error == asio::error::eof || error == asio::error::connection_reset || error == asio::error::broken_pipe)
    error_.Update(absl::UnavailableError(absl::StrCat("rank ", peer, " has left the group")));
  else if (error)
    error_.Update(SystemError(error, absl::StrCat("the connection to rank ", peer, " failed")));
}

std::string Mesh::NameUnfinished() const {
  std::vector<std::string> names;
  for (size_t peer = 0; peer != unfinished_.size(); ++peer)
    if (unfinished_[peer] != 0)
      names.push_back(NameRank(peer));
  return absl::StrJoin(names, ", ");
}

absl::Status Mesh::Run(absl::Duration timeout) {
  using Clock = std::chrono::steady_clock;
  auto limit = absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(24 * 365)));
  Clock::time_point end = Clock::now() + limit;
  auto is_done = [&] { return absl::c_all_of(unfinished_, [](int count) { return count == 0; }); };
  while (error_.ok() && !is_done()) {
    int64_t before = progress_;
    context_.restart();
    context_.run_one_until(end);
    if (is_cancelled_)
      error_ = absl::CancelledError("the group has ended");
    else if (progress_ != before)
      end = Clock::now() + limit;
    else if (Clock::now() >= end)
      error_ = absl::DeadlineExceededError(
          absl::StrCat("waited ", absl::FormatDuration(timeout), " for ", NameUnfinished()));
  }
  if (error_.ok())
    return error_;
  for (std::optional<tcp::socket> &socket : sockets_) {
    asio::error_code ignored;
    if (socket)
      socket->close(ignored);
  }
  context_.restart();
  context_.poll();
  return error_;
}

absl::Status Mesh::Exchange(absl::Span<const PeerTransfer> transfers, absl::Duration timeout) {
  CS336_RETURN_IF_ERROR(error_);
  // Limits the bytes of one call, so that progress is counted, and continues until everything is sent.
  auto count_progress = [this](asio::error_code error, size_t) -> size_t {
    constexpr size_t kBytesPerCall = 1 << 20;
    ++progress_;
    return error ? 0 : kBytesPerCall;
  };
  for (const PeerTransfer &transfer : transfers) {
    int peer = transfer.peer;
    auto finish = [this, peer](asio::error_code error, size_t) { Finish(peer, error); };
    if (asio::buffer_size(transfer.sent) != 0) {
      ++unfinished_[peer];
      asio::async_write(*sockets_[peer], transfer.sent, count_progress, finish);
    }
    if (asio::buffer_size(transfer.received) != 0) {
      ++unfinished_[peer];
      asio::async_read(*sockets_[peer], transfer.received, count_progress, finish);
    }
  }
  return Run(timeout);
}

void Mesh::Cancel() {
  is_cancelled_ = true;
  asio::post(context_, [] {});
}

} // namespace cs336::runtime
