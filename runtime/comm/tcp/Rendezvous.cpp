//===- Rendezvous.cpp - The point where ranks meet ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/CollectiveCall.h"
#include "comm/TimeLimits.h"
#include "comm/tcp/Endpoint.h"
#include "comm/tcp/MessageStream.h"
#include "comm/tcp/Messages.h"
#include "comm/tcp/Secrets.h"
#include "comm/tcp/ServiceThread.h"
#include "cs336/runtime/TcpGroup.h"
#include "status/StatusMacros.h"
#include "status/SystemError.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include <asio/steady_timer.hpp>
#include <list>
#include <optional>
#include <vector>

namespace cs336::runtime {

namespace {

using asio::ip::tcp;
using nlohmann::json;

/// Larger messages of a process that is not yet known to belong to the group are refused.
constexpr uint32_t kMaxJoinBytes = 16 << 10;
/// The time in which a connection must identify itself, and the number of connections that may not have done so.
constexpr absl::Duration kJoinTime = absl::Seconds(10);
constexpr size_t kMaxJoiningStrangers = 256;
/// The time before connections are accepted again after an error.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);

/// A rank of the group.
struct Member {
  std::shared_ptr<MessageStream> stream; // Null until it joins.
  std::string address;
  int port = 0;
  absl::Time last_heard;
  int64_t progress = 0; // Collectives that it has begun on its device.
  bool has_left = false;
};

/// A connection that has not identified itself.
struct Stranger {
  std::shared_ptr<MessageStream> stream;
  absl::Time end;
};

class RendezvousServer : public Rendezvous {
public:
  explicit RendezvousServer(RendezvousOptions options)
      : options_(std::move(options)), limits_(options_.timeout), members_(options_.size), acceptor_(thread_.context),
        timer_(thread_.context), accept_timer_(thread_.context) {}

  ~RendezvousServer() override {
    if (is_running_) {
      thread_.Run([&] { Broadcast(EndMessage()); });
      thread_.WaitUntil([&] { return !HasUnsent(); }, limits_.settle);
    }
    thread_.Stop();
  }

  absl::Status Start() {
    CS336_ASSIGN_OR_RETURN(tcp::endpoint endpoint, ResolveEndpoint(thread_.context, options_.address, options_.port));
    CS336_RETURN_IF_ERROR(runtime::Listen(acceptor_, endpoint));
    port_ = acceptor_.local_endpoint().port();
    begin_ = absl::Now();
    Accept();
    Tick();
    CS336_RETURN_IF_ERROR(thread_.Start());
    is_running_ = true;
    return absl::OkStatus();
  }

  int port() const override { return port_; }

  void Fail(absl::Status reason) override {
    thread_.Run([&] { End(std::move(reason)); });
  }

private:
  bool HasUnsent() const {
    return absl::c_any_of(members_, [](const Member &member) { return member.stream && member.stream->HasUnsent(); });
  }

  bool IsComplete() const {
    return absl::c_all_of(members_, [](const Member &member) { return member.stream != nullptr; });
  }

  std::vector<int64_t> Progress() const {
    std::vector<int64_t> begun;
    for (const Member &member : members_)
      begun.push_back(member.progress);
    return begun;
  }

  void Broadcast(const json &message) {
    for (Member &member : members_)
      if (member.stream)
        member.stream->Send(message);
  }

  /// Ends the group, unless it has ended.
  void End(absl::Status reason) {
    if (!failure_.ok())
      return;
    failure_ = std::move(reason);
    Broadcast(FailureMessage(failure_));
    if (options_.on_failure)
      options_.on_failure(failure_);
  }

  void Accept() {
    acceptor_.async_accept([this](asio::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted)
        return;
      accept_error_ = error;
      if (error)
        return AcceptLater();
      if (strangers_.size() < kMaxJoiningStrangers)
        Meet(std::move(socket));
      Accept();
    });
  }

  /// Accepts again after a pause: the connection still waits after most errors, such as too many open files.
  void AcceptLater() {
    accept_timer_.expires_after(absl::ToChronoMilliseconds(kAcceptPause));
    accept_timer_.async_wait([this](asio::error_code error) {
      if (!error)
        Accept();
    });
  }

  void Meet(tcp::socket socket) {
    auto stream = std::make_shared<MessageStream>(std::move(socket), kMaxJoinBytes);
    auto stranger = strangers_.insert(strangers_.end(), {stream, absl::Now() + kJoinTime});
    stream->Receive([this, stranger](absl::StatusOr<json> message) {
      std::shared_ptr<MessageStream> stream = std::move(stranger->stream);
      strangers_.erase(stranger);
      std::optional<JoinRequest> request = message.ok() ? ReadJoinMessage(*message) : std::nullopt;
      if (!request || !AreEqualSecrets(request->token, options_.token))
        stream->Close();
      else
        Join(*request, std::move(stream));
    });
  }

  void Join(const JoinRequest &request, std::shared_ptr<MessageStream> stream) {
    if (absl::Status status = CheckRequest(request); !status.ok())
      return stream->Send(FailureMessage(status));
    if (!failure_.ok())
      return stream->Send(FailureMessage(failure_));
    stream->set_max_bytes(kMaxControlBytes);
    asio::error_code error;
    std::string address = stream->socket().remote_endpoint(error).address().to_string();
    members_[request.rank] = {std::move(stream), std::move(address), request.port, absl::Now(), 0};
    Hear(request.rank);
    if (IsComplete())
      Introduce();
  }

  absl::Status CheckRequest(const JoinRequest &request) const {
    if (request.protocol != kProtocol)
      return absl::InvalidArgumentError(absl::StrCat("rank ", request.rank, " has protocol ", request.protocol,
                                                     ", but the rendezvous ", kProtocol,
                                                     ": run the same version of the software on all ranks"));
    if (request.size != options_.size)
      return absl::InvalidArgumentError(absl::StrCat("rank ", request.rank, " was started for ", request.size,
                                                     " ranks, but the group has ", options_.size));
    if (request.rank < 0 || request.rank >= options_.size)
      return absl::InvalidArgumentError(absl::StrCat("there is no rank ", request.rank, " of ", options_.size));
    if (members_[request.rank].stream)
      return absl::InvalidArgumentError(absl::StrCat(
          "rank ", request.rank, " has joined already: give each process another rank, and each job another port"));
    return absl::OkStatus();
  }

  /// Tells each rank the addresses of all, and a secret for each pair of ranks.
  void Introduce() {
    std::vector<std::vector<PeerAddress>> tables(members_.size());
    for (size_t rank = 0; rank != members_.size(); ++rank)
      for (size_t other = 0; other != members_.size(); ++other)
        tables[rank].push_back(
            {members_[other].address, members_[other].port, other < rank ? tables[other][rank].secret : CreateToken()});
    for (size_t rank = 0; rank != members_.size(); ++rank)
      members_[rank].stream->Send(PeersMessage(tables[rank]));
  }

  void Hear(int rank) {
    members_[rank].stream->Receive([this, rank](absl::StatusOr<json> message) {
      Member &member = members_[rank];
      if (!message.ok()) {
        member.stream->Close();
        if (!member.has_left)
          End(absl::UnavailableError(absl::StrCat("rank ", rank, " ended without leaving the group")));
        return;
      }
      member.last_heard = absl::Now();
      if (IsLeaveMessage(*message))
        member.has_left = true;
      else if (std::optional<int64_t> progress = ReadAliveMessage(*message))
        member.progress = *progress;
      else if (absl::Status failure = ReadFailureMessage(*message); !failure.ok())
        End(NameRanksBehind(failure, Progress()));
      Hear(rank);
    });
  }

  /// Looks for missing and silent ranks, and sends a heartbeat to all ranks.
  void Tick() {
    absl::Time now = absl::Now();
    for (Stranger &stranger : strangers_)
      if (stranger.end < now)
        stranger.stream->Close();
    std::vector<std::string> missing, silent;
    for (size_t rank = 0; rank != members_.size(); ++rank) {
      const Member &member = members_[rank];
      if (!member.stream)
        missing.push_back(absl::StrCat("rank ", rank));
      else if (!member.has_left && member.last_heard + limits_.silence < now)
        silent.push_back(absl::StrCat("rank ", rank));
    }
    if (!silent.empty())
      End(absl::DeadlineExceededError(absl::StrCat("no heartbeat from ", absl::StrJoin(silent, ", "), " for ",
                                                   absl::FormatDuration(limits_.silence))));
    else if (!missing.empty() && begin_ + limits_.wait < now)
      End(DescribeMissing(missing));
    Broadcast(AliveMessage());
    timer_.expires_after(absl::ToChronoMilliseconds(limits_.heartbeat));
    timer_.async_wait([this](asio::error_code error) {
      if (!error)
        Tick();
    });
  }

  absl::Status DescribeMissing(const std::vector<std::string> &missing) const {
    std::string text =
        absl::StrCat("waited ", absl::FormatDuration(limits_.wait), " for ", absl::StrJoin(missing, ", "), " to join");
    if (accept_error_)
      return SystemError(accept_error_, absl::StrCat(text, ", and cannot accept connections"));
    return absl::DeadlineExceededError(text);
  }

  RendezvousOptions options_;
  TimeLimits limits_;
  int port_ = 0;
  absl::Time begin_;
  bool is_running_ = false;
  ServiceThread thread_; // Its context must outlive the connections.
  // Once the thread runs, only the thread uses these members.
  std::vector<Member> members_;
  std::list<Stranger> strangers_;
  absl::Status failure_;
  tcp::acceptor acceptor_;
  asio::error_code accept_error_; // The error of the last connection, or none.
  asio::steady_timer timer_, accept_timer_;
};

} // namespace

Rendezvous::~Rendezvous() = default;

absl::StatusOr<std::unique_ptr<Rendezvous>> Rendezvous::Start(RendezvousOptions options) {
  return CatchSystemErrors("cannot start the rendezvous of the ranks",
                           [&]() -> absl::StatusOr<std::unique_ptr<Rendezvous>> {
                             auto server = std::make_unique<RendezvousServer>(std::move(options));
                             CS336_RETURN_IF_ERROR(server->Start());
                             return server;
                           });
}

} // namespace cs336::runtime
