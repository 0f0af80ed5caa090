//===- ControlLink.cpp - A rank's connection to the rendezvous ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/tcp/ControlLink.h"

#include "comm/tcp/Endpoint.h"
#include "status/StatusMacros.h"
#include "status/SystemError.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace cs336::runtime {

namespace {

using asio::ip::tcp;

std::string Where(const RankEnvironment &environment) {
  return absl::StrCat("the rendezvous at ", environment.address, ":", environment.port);
}

/// Connects a socket of a context that no other thread runs.
asio::error_code ConnectUntil(asio::io_context &context, tcp::socket &socket, const tcp::endpoint &endpoint,
                              absl::Time end) {
  asio::error_code result = asio::error::timed_out;
  for (; absl::Now() < end; absl::SleepFor(absl::Milliseconds(50))) {
    bool is_done = false;
    socket.async_connect(endpoint, [&](asio::error_code error) {
      result = error;
      is_done = true;
    });
    context.run_one_until(absl::ToChronoTime(end));
    if (is_done && !result)
      break;
    asio::error_code ignored;
    socket.close(ignored);
    context.poll(); // The handler refers to variables of this function.
  }
  return result;
}

} // namespace

ControlLink::ControlLink(RankEnvironment environment, absl::Duration timeout)
    : environment_(std::move(environment)), limits_(timeout), timer_(thread_.context) {}

absl::StatusOr<std::unique_ptr<ControlLink>> ControlLink::Connect(const RankEnvironment &environment,
                                                                  absl::Duration timeout) {
  std::unique_ptr<ControlLink> link(new ControlLink(environment, timeout));
  asio::io_context &context = link->thread_.context;
  CS336_ASSIGN_OR_RETURN(tcp::endpoint endpoint, ResolveEndpoint(context, environment.address, environment.port));
  tcp::socket socket(context);
  CS336_RETURN_IF_ERROR(SystemError(ConnectUntil(context, socket, endpoint, absl::Now() + link->limits_.wait),
                                    absl::StrCat("rank ", environment.rank, " does not reach ", Where(environment))));
  link->local_address_ = socket.local_endpoint().address();
  CS336_RETURN_IF_ERROR(link->thread_.Start());
  link->stream_ = std::make_shared<MessageStream>(std::move(socket), kMaxControlBytes);
  return link;
}

ControlLink::~ControlLink() {
  if (stream_) {
    thread_.Run([&] {
      timer_.cancel();
      stream_->Send(LeaveMessage());
    });
    thread_.WaitUntil([&] { return !stream_->HasUnsent(); }, limits_.settle);
  }
  thread_.Stop();
}

absl::StatusOr<std::vector<PeerAddress>> ControlLink::Join(int port) {
  thread_.Run([&] {
    stream_->Send(JoinMessage({kProtocol, environment_.token, environment_.rank, environment_.size, port}));
    last_heard_ = absl::Now();
    Receive();
    Tick();
  });
  std::unique_lock<std::mutex> lock(mutex_);
  // This wait ends: the rendezvous reports missing ranks, or Tick() reports a silent rendezvous.
  changed_.wait(lock, [&] { return !peers_.empty() || !failure_.ok(); });
  if (!failure_.ok())
    return failure_;
  if (peers_.size() != static_cast<size_t>(environment_.size))
    return absl::InternalError(
        absl::StrCat(Where(environment_), " sent ", peers_.size(), " addresses for ", environment_.size, " ranks"));
  for (PeerAddress &peer : peers_) {
    // A rank on the host of the rendezvous is at the address of the rendezvous.
    asio::error_code error;
    bool is_loopback = asio::ip::make_address(peer.address, error).is_loopback();
    if (is_loopback && !local_address_.is_loopback())
      peer.address = environment_.address;
  }
  return peers_;
}

void ControlLink::Receive() {
  stream_->Receive([this](absl::StatusOr<nlohmann::json> message) {
    if (message.ok()) {
      last_heard_ = absl::Now();
      Handle(*message);
      return Receive();
    }
    if (!has_ended_)
      Fail(absl::UnavailableError(absl::StrCat("the connection to ", Where(environment_), " has ended: ",
                                               environment_.is_hosted ? "the program that started the ranks" : "rank 0",
                                               " has ended, or CS336_TOKEN is another one there")));
  });
}

void ControlLink::Handle(const nlohmann::json &message) {
  if (absl::Status failure = ReadFailureMessage(message); !failure.ok())
    return Fail(std::move(failure));
  if (IsEndMessage(message))
    has_ended_ = true;
  if (std::optional<std::vector<PeerAddress>> peers = ReadPeersMessage(message)) {
    std::lock_guard<std::mutex> lock(mutex_);
    peers_ = *std::move(peers);
    changed_.notify_all();
  }
}

void ControlLink::Tick() {
  // Within this time, the rendezvous ends the group if a rank is silent. So a longer silence means that the rendezvous
  // itself has stopped.
  if (!has_ended_ && last_heard_ + limits_.wait < absl::Now())
    Fail(absl::DeadlineExceededError(
        absl::StrCat("no heartbeat from ", Where(environment_), " for ", absl::FormatDuration(limits_.wait))));
  stream_->Send(AliveMessage(progress_));
  timer_.expires_after(absl::ToChronoMilliseconds(limits_.heartbeat));
  timer_.async_wait([this](asio::error_code error) {
    if (!error)
      Tick();
  });
}

void ControlLink::Fail(absl::Status failure) {
  std::function<void()> handler;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok())
      return;
    failure_ = std::move(failure);
    handler = std::move(on_failure_);
    changed_.notify_all();
  }
  if (handler)
    handler();
}

void ControlLink::OnFailure(std::function<void()> handler) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (failure_.ok()) {
      on_failure_ = std::move(handler);
      return;
    }
  }
  handler();
}

absl::Status ControlLink::WaitForFailure(absl::Duration limit) const {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, absl::ToChronoNanoseconds(limit), [&] { return !failure_.ok(); });
  return failure_;
}

void ControlLink::Report(const absl::Status &failure) {
  thread_.Run([&] { stream_->Send(FailureMessage(failure)); });
}

} // namespace cs336::runtime
