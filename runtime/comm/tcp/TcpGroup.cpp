//===- TcpGroup.cpp - Ranks as processes ----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/TcpGroup.h"

#include "comm/CollectiveCall.h"
#include "comm/Reduce.h"
#include "comm/TimeLimits.h"
#include "comm/tcp/ControlLink.h"
#include "comm/tcp/Mesh.h"
#include "status/StatusMacros.h"
#include "status/SystemError.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

using FailureHandler = std::function<void(const absl::Status &)>;

/// The communicator of one rank. A reduction sends part p of this rank's block to rank p, which adds the parts in the
/// order of ranks and sends the result to all. A child that fork() makes has no thread of connections, and shares the
/// connections with its parent: there, collectives are an error.
class TcpCommunicator : public Communicator {
public:
  TcpCommunicator(int rank, int size, absl::Duration timeout, std::unique_ptr<Rendezvous> rendezvous)
      : rank_(rank), size_(size), timeout_(timeout), limits_(timeout), rendezvous_(std::move(rendezvous)),
        mesh_(std::make_unique<Mesh>(rank, size)), scratch_(size) {}
  ~TcpCommunicator() override {
    if (process_ == getpid())
      return;
    // In a child, destroying the connections would end the parent's.
    (void)link_.release();
    (void)mesh_.release();
    (void)rendezvous_.release();
  }

  absl::Status Join(const RankEnvironment &environment) {
    CS336_ASSIGN_OR_RETURN(link_, ControlLink::Connect(environment, timeout_));
    asio::ip::address local = link_->local_address();
    // A rank on another host does not reach the loopback interface.
    if (local.is_loopback() && environment.local_size != environment.size)
      local = local.is_v6() ? asio::ip::address(asio::ip::address_v6::any()) : asio::ip::address_v4::any();
    CS336_ASSIGN_OR_RETURN(int port, mesh_->Listen(local));
    CS336_ASSIGN_OR_RETURN(std::vector<PeerAddress> peers, link_->Join(port));
    link_->OnFailure([this] {
      mesh_->Cancel();
      CallHandler();
    });
    return Settle(mesh_->Connect(peers, limits_.wait));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  absl::Status AllReduce(const void *src, void *dst, int64_t count, DType dtype, Reduction reduction) override {
    CS336_RETURN_IF_ERROR(Agree({CollectiveOperation::kAllReduce, dtype, reduction, 0, count}));
    int64_t piece = kPieceBytes / ByteSize(dtype) * size_;
    // One more exchange than there are pieces: each has the blocks of one piece, and the results of the one before.
    for (int64_t begin = 0; begin < count + piece; begin += piece) {
      auto part = [&](int64_t first, int rank) {
        int64_t elements = std::clamp<int64_t>(count - first, 0, piece);
        return first < 0 || elements == 0
                   ? Range{}
                   : Range{first + elements * rank / size_, first + elements * (rank + 1) / size_};
      };
      Range own = part(begin, rank_);
      CS336_RETURN_IF_ERROR(Exchange([&](int peer) {
        Range of_peer = part(begin, peer), reduced = part(begin - piece, rank_), result = part(begin - piece, peer);
        return PeerTransfer{peer,
                            {Bytes(dst, reduced, dtype), Bytes(src, of_peer, dtype)},
                            {Bytes(dst, result, dtype), Scratch(peer, own, dtype)}};
      }));
      Reduce(src, dst, own, own, dtype, reduction);
    }
    return absl::OkStatus();
  }

  absl::Status AllGather(const void *src, void *dst, int64_t count, DType dtype) override {
    CS336_RETURN_IF_ERROR(Agree({CollectiveOperation::kAllGather, dtype, Reduction::kSum, 0, count}));
    CS336_RETURN_IF_ERROR(Exchange([&](int peer) {
      return PeerTransfer{peer, {Bytes(src, {0, count}, dtype)}, {Bytes(dst, PartOf(peer, count), dtype)}};
    }));
    Copy(src, {0, count}, dst, PartOf(rank_, count), dtype);
    return absl::OkStatus();
  }

  absl::Status ReduceScatter(const void *src, void *dst, int64_t count, DType dtype, Reduction reduction) override {
    CS336_RETURN_IF_ERROR(Agree({CollectiveOperation::kReduceScatter, dtype, reduction, 0, count}));
    int64_t piece = kPieceBytes / ByteSize(dtype);
    for (int64_t begin = 0; begin < count; begin += piece) {
      Range part{begin, std::min(count, begin + piece)};
      auto of_rank = [&](int rank) { return Range{rank * count + part.begin, rank * count + part.end}; };
      CS336_RETURN_IF_ERROR(Exchange([&](int peer) {
        return PeerTransfer{peer, {Bytes(src, of_rank(peer), dtype)}, {Scratch(peer, part, dtype)}};
      }));
      Reduce(src, dst, of_rank(rank_), part, dtype, reduction);
    }
    return absl::OkStatus();
  }

  absl::Status Broadcast(const void *src, void *dst, int64_t count, DType dtype, int root) override {
    if (root < 0 || root >= size_)
      return absl::InvalidArgumentError(absl::StrCat("the root is rank ", root, " of ", size_));
    CS336_RETURN_IF_ERROR(Agree({CollectiveOperation::kBroadcast, dtype, Reduction::kSum, root, count}));
    Range all{0, count};
    CS336_RETURN_IF_ERROR(Exchange([&](int peer) {
      PeerTransfer transfer{peer, {}, {}};
      if (rank_ == root)
        transfer.sent[0] = Bytes(src, all, dtype);
      else if (peer == root)
        transfer.received[0] = Bytes(dst, all, dtype);
      return transfer;
    }));
    if (rank_ == root)
      Copy(src, all, dst, all, dtype);
    return absl::OkStatus();
  }

  absl::Status AllToAll(const void *src, void *dst, int64_t count, DType dtype) override {
    CS336_RETURN_IF_ERROR(Agree({CollectiveOperation::kAllToAll, dtype, Reduction::kSum, 0, count}));
    CS336_RETURN_IF_ERROR(Exchange([&](int peer) {
      return PeerTransfer{peer, {Bytes(src, PartOf(peer, count), dtype)}, {Bytes(dst, PartOf(peer, count), dtype)}};
    }));
    Copy(src, PartOf(rank_, count), dst, PartOf(rank_, count), dtype);
    return absl::OkStatus();
  }

  absl::Status CompareProgram(uint64_t hash) override {
    CS336_RETURN_IF_ERROR(Agree({CollectiveOperation::kCompareProgram, DType::kI64, Reduction::kSum, 0, 1}));
    CS336_ASSIGN_OR_RETURN(std::vector<uint64_t> hashes, GatherFromAll(hash));
    return ComparePrograms(hashes);
  }

  absl::Duration timeout() const override { return timeout_; }

  void OnFailure(FailureHandler handler) override {
    {
      std::lock_guard<std::mutex> lock(handler_mutex_);
      handler_ = std::move(handler);
    }
    if (!link_->WaitForFailure(absl::ZeroDuration()).ok())
      CallHandler();
  }

  void Fail(const absl::Status &failure) override {
    if (process_ == getpid())
      link_->Report(NameRank(rank_, failure));
  }
  void NoteProgress(int64_t collectives) override { link_->NoteProgress(collectives); }

private:
  /// Calls the handler unless it was called before. Holds the mutex meanwhile, so that a handler that was removed does
  /// not run any more.
  void CallHandler() {
    std::lock_guard<std::mutex> lock(handler_mutex_);
    if (FailureHandler handler = std::exchange(handler_, nullptr))
      handler(link_->WaitForFailure(absl::ZeroDuration()));
  }

  /// The elements [begin, end) of a block.
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t count() const { return end - begin; }
  };

  static Range PartOf(int rank, int64_t count) { return {rank * count, (rank + 1) * count}; }

  static asio::const_buffer Bytes(const void *block, Range range, DType dtype) {
    return {static_cast<const char *>(block) + range.begin * ByteSize(dtype),
            static_cast<size_t>(range.count() * ByteSize(dtype))};
  }
  static asio::mutable_buffer Bytes(void *block, Range range, DType dtype) {
    return {static_cast<char *>(block) + range.begin * ByteSize(dtype),
            static_cast<size_t>(range.count() * ByteSize(dtype))};
  }

  static void Copy(const void *src, Range from, void *dst, Range to, DType dtype) {
    asio::const_buffer source = Bytes(src, from, dtype);
    asio::mutable_buffer target = Bytes(dst, to, dtype);
    if (source.data() != target.data() && source.size() != 0)
      std::memcpy(target.data(), source.data(), source.size());
  }

  /// Returns memory for the part of another rank's block that this rank reduces.
  asio::mutable_buffer Scratch(int peer, Range part, DType dtype) {
    scratch_[peer].resize(part.count() * ByteSize(dtype));
    return asio::buffer(scratch_[peer]);
  }

  /// Reduces a part of this rank's block with the parts that the other ranks sent.
  void Reduce(const void *src, void *dst, Range from, Range to, DType dtype, Reduction reduction) {
    std::vector<const void *> parts;
    for (int rank = 0; rank != size_; ++rank)
      parts.push_back(rank == rank_ ? Bytes(src, from, dtype).data() : scratch_[rank].data());
    void *result = Bytes(dst, to, dtype).data();
    ReduceRange(parts, 0, {&result, 1}, 0, from.count(), dtype, reduction);
  }

  /// Runs the transfers that `describe` returns for the other ranks.
  template <typename Describe>
  absl::Status Exchange(const Describe &describe) {
    std::vector<PeerTransfer> transfers;
    for (int peer = 0; peer != size_; ++peer)
      if (peer != rank_)
        transfers.push_back(describe(peer));
    return Settle(mesh_->Exchange(transfers, limits_.wait));
  }

  /// Returns the value of each rank.
  template <typename T>
  absl::StatusOr<std::vector<T>> GatherFromAll(const T &own) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(size_, own);
    CS336_RETURN_IF_ERROR(Exchange([&](int peer) {
      return PeerTransfer{peer, {asio::buffer(&own, sizeof(own))}, {asio::buffer(&all[peer], sizeof(own))}};
    }));
    return all;
  }

  /// Returns the same error on all ranks unless all call the same.
  absl::Status Agree(const CollectiveCall &call) {
    if (process_ != getpid())
      return absl::FailedPreconditionError(absl::StrCat("this process was forked from rank ", rank_,
                                                        ": only the rank itself can communicate with other ranks"));
    CS336_ASSIGN_OR_RETURN(std::vector<CollectiveCall> calls, GatherFromAll(call));
    return CheckCalls(calls);
  }

  /// Returns the failure of the group instead of an error that may only follow from it. Reports the error to the group
  /// if it is the first one.
  absl::Status Settle(const absl::Status &status) {
    if (status.ok())
      return status;
    // The rendezvous may notice a rank's end later than the rank's peers.
    if (absl::Status failure = link_->WaitForFailure(limits_.settle); !failure.ok())
      return failure;
    Fail(status);
    return status;
  }

  /// The bytes that a rank sends to another in one exchange of a reduction. Scratch memory has this size for each other
  /// rank. Results are sent together with the blocks of the next piece.
  static constexpr int64_t kPieceBytes = 1 << 20;

  const pid_t process_ = getpid();
  int rank_, size_;
  absl::Duration timeout_;
  TimeLimits limits_;
  std::mutex handler_mutex_;
  FailureHandler handler_;                 // Guarded by handler_mutex_.
  std::unique_ptr<Rendezvous> rendezvous_; // Null except on rank 0 of a group that is not hosted.
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<ControlLink> link_; // Its thread, which cancels the mesh, ends first.
  std::vector<std::vector<char>> scratch_;
};

} // namespace

absl::StatusOr<std::unique_ptr<Communicator>> JoinTcpGroup(const RankEnvironment &environment, absl::Duration timeout) {
  std::unique_ptr<Rendezvous> rendezvous;
  if (environment.rank == 0 && !environment.is_hosted) {
    CS336_ASSIGN_OR_RETURN(rendezvous, Rendezvous::Start({environment.address, environment.port, environment.size,
                                                          environment.token, timeout, nullptr}));
  }
  return CatchSystemErrors(absl::StrCat("rank ", environment.rank, " cannot join the group"),
                           [&]() -> absl::StatusOr<std::unique_ptr<Communicator>> {
                             auto communicator = std::make_unique<TcpCommunicator>(environment.rank, environment.size,
                                                                                   timeout, std::move(rendezvous));
                             CS336_RETURN_IF_ERROR(communicator->Join(environment));
                             return communicator;
                           });
}

} // namespace cs336::runtime
