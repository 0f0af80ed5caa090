//===- InProcess.cpp - Ranks as threads of one process --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/CollectiveCall.h"
#include "comm/Reduce.h"
#include "comm/TimeLimits.h"
#include "cs336/runtime/Communicator.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

namespace cs336::runtime {

namespace {

using FailureHandler = std::function<void(const absl::Status &)>;

/// The state that ranks share: a barrier, and the call and blocks of each rank.
class Group {
public:
  Group(int size, absl::Duration timeout)
      : timeout_(timeout), has_come_(size), handlers_(size), begun_(size), calls(size), src(size), dst(size),
        programs(size) {}

  int size() const { return static_cast<int>(calls.size()); }

  absl::Duration timeout() const { return timeout_; }

  /// Waits up to `timeout` until every rank has arrived. All ranks then see what a rank wrote
  /// before.
  absl::Status Barrier(int rank, absl::Duration timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!end_.ok())
      return end_;
    has_come_[rank] = true;
    if (++waiting_ == size()) {
      waiting_ = 0;
      has_come_.assign(size(), false);
      ++generation_;
      all_came_.notify_all();
      return absl::OkStatus();
    }
    int64_t generation = generation_;
    auto is_over = [&] { return generation_ != generation || !end_.ok(); };
    if (!all_came_.wait_until(lock, DeadlineIn(timeout), is_over)) {
      std::string missing = NameMissing();
      // The others must not wait for this rank either.
      End(absl::UnavailableError(absl::StrCat("rank ", rank, " gave up waiting for ", missing)));
      return absl::DeadlineExceededError(absl::StrCat("waited ", absl::FormatDuration(timeout), " for ", missing));
    }
    return generation_ != generation ? absl::OkStatus() : end_;
  }

  void Leave(int rank) { Fail(absl::UnavailableError(absl::StrCat("rank ", rank, " has left the group"))); }

  void Fail(const absl::Status &reason) {
    std::lock_guard<std::mutex> lock(mutex_);
    End(NameRanksBehind(reason, begun_));
  }

  void NoteProgress(int rank, int64_t collectives) {
    std::lock_guard<std::mutex> lock(mutex_);
    begun_[rank] = collectives;
  }

  void OnFailure(int rank, FailureHandler handler) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (handler && !end_.ok())
      return handler(end_);
    handlers_[rank] = std::move(handler);
  }

private:
  static std::chrono::steady_clock::time_point DeadlineIn(absl::Duration timeout) {
    // An infinite duration does not fit into a clock's time.
    constexpr absl::Duration kLongest = absl::Hours(24 * 365);
    return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(std::min(timeout, kLongest));
  }

  /// Ends the group for the first reason given. mutex_ is held.
  void End(const absl::Status &reason) {
    if (!end_.ok())
      return;
    end_ = reason;
    all_came_.notify_all();
    for (FailureHandler &handler : handlers_)
      if (FailureHandler called = std::exchange(handler, nullptr))
        called(end_);
  }

  /// Returns "rank 1, rank 3": the ranks that have not come to the barrier. mutex_ is held.
  std::string NameMissing() const {
    std::vector<std::string> missing;
    for (int rank = 0; rank != size(); ++rank)
      if (!has_come_[rank])
        missing.push_back(absl::StrCat("rank ", rank));
    return absl::StrJoin(missing, ", ");
  }

  absl::Duration timeout_;
  // ThreadSanitizer intercepts these, but does not see into absl::Mutex, which Debian builds without it.
  std::mutex mutex_;
  std::condition_variable all_came_;
  // Guarded by mutex_.
  int waiting_ = 0;
  int64_t generation_ = 0;
  std::vector<bool> has_come_; // To the barrier, by rank.
  absl::Status end_;           // The reason why the group has ended, or OK.
  std::vector<FailureHandler> handlers_;
  std::vector<int64_t> begun_; // Collectives on devices, by rank.

public:
  // A rank writes its own element before a barrier, and reads the elements of
  // other ranks after it.
  std::vector<CollectiveCall> calls;
  std::vector<const void *> src;
  std::vector<void *> dst;
  std::vector<uint64_t> programs; // Hashes.
};

class InProcessCommunicator : public Communicator {
public:
  InProcessCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~InProcessCommunicator() override {
    group_->OnFailure(rank_, nullptr);
    group_->Leave(rank_);
  }

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  absl::Status AllReduce(const void *src, void *dst, int64_t count, DType dtype, Reduction reduction) override {
    return Collective({CollectiveOperation::kAllReduce, dtype, reduction, 0, count}, src, dst, [&] {
      // Each rank reduces its share of the elements for all ranks.
      int64_t begin = count * rank_ / size();
      int64_t end = count * (rank_ + 1) / size();
      ReduceRange(group_->src, begin, group_->dst, begin, end - begin, dtype, reduction);
    });
  }

  absl::Status AllGather(const void *src, void *dst, int64_t count, DType dtype) override {
    return Collective({CollectiveOperation::kAllGather, dtype, Reduction::kSum, 0, count}, src, dst, [&] {
      int64_t bytes = count * ByteSize(dtype);
      for (void *block : group_->dst)
        Copy(src, static_cast<char *>(block) + rank_ * bytes, bytes);
    });
  }

  absl::Status ReduceScatter(const void *src, void *dst, int64_t count, DType dtype, Reduction reduction) override {
    return Collective({CollectiveOperation::kReduceScatter, dtype, reduction, 0, count}, src, dst,
                      [&] { ReduceRange(group_->src, rank_ * count, {&dst, 1}, 0, count, dtype, reduction); });
  }

  absl::Status Broadcast(const void *src, void *dst, int64_t count, DType dtype, int root) override {
    if (root < 0 || root >= size())
      return absl::InvalidArgumentError(absl::StrCat("the root is rank ", root, " of ", size()));
    return Collective({CollectiveOperation::kBroadcast, dtype, Reduction::kSum, root, count}, src, dst,
                      [&] { Copy(group_->src[root], dst, count * ByteSize(dtype)); });
  }

  absl::Status AllToAll(const void *src, void *dst, int64_t count, DType dtype) override {
    return Collective({CollectiveOperation::kAllToAll, dtype, Reduction::kSum, 0, count}, src, dst, [&] {
      int64_t bytes = count * ByteSize(dtype);
      for (int rank = 0; rank != size(); ++rank)
        Copy(static_cast<const char *>(group_->src[rank]) + rank_ * bytes, static_cast<char *>(dst) + rank * bytes,
             bytes);
    });
  }

  absl::Status CompareProgram(uint64_t hash) override {
    group_->programs[rank_] = hash;
    absl::Status result;
    CS336_RETURN_IF_ERROR(Collective({CollectiveOperation::kCompareProgram, DType::kI64, Reduction::kSum, 0, 1},
                                     nullptr, nullptr, [&] { result = ComparePrograms(group_->programs); }));
    return result;
  }

  absl::Duration timeout() const override { return group_->timeout(); }
  void OnFailure(FailureHandler handler) override { group_->OnFailure(rank_, std::move(handler)); }
  void Fail(const absl::Status &failure) override { group_->Fail(NameRank(rank_, failure)); }
  void NoteProgress(int64_t collectives) override { group_->NoteProgress(rank_, collectives); }

private:
  /// Runs `work` of each rank between two barriers. Meanwhile blocks change
  /// only by what the `work` of a rank writes.
  template <typename Work>
  absl::Status Collective(const CollectiveCall &call, const void *src, void *dst, const Work &work) {
    group_->calls[rank_] = call;
    group_->src[rank_] = src;
    group_->dst[rank_] = dst;
    CS336_RETURN_IF_ERROR(group_->Barrier(rank_, TimeLimits(group_->timeout()).wait));
    absl::Status status = CheckCalls(group_->calls);
    if (status.ok())
      work();
    // Every rank has arrived and reads the others' blocks. However long this takes, no rank may free its own
    // before it ends.
    CS336_RETURN_IF_ERROR(group_->Barrier(rank_, absl::InfiniteDuration()));
    return status;
  }

  static void Copy(const void *src, void *dst, int64_t bytes) {
    if (src != dst && bytes != 0)
      std::memcpy(dst, src, bytes);
  }

  std::shared_ptr<Group> group_;
  int rank_;
};

} // namespace

std::vector<std::unique_ptr<Communicator>> CreateInProcessGroup(int size, absl::Duration timeout) {
  auto group = std::make_shared<Group>(size, timeout);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank != size; ++rank)
    ranks.push_back(std::make_unique<InProcessCommunicator>(group, rank));
  return ranks;
}

} // namespace cs336::runtime
