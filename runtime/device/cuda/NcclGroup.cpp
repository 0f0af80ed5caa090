//===- NcclGroup.cpp - A rank's end of a group of GPUs --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/NcclGroup.h"

#include "profile/CommandScope.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace cs336::runtime {

namespace {

/// The time between two looks at a call that is not done.
constexpr absl::Duration kPause = absl::Microseconds(50);

} // namespace

NcclGroup::NcclGroup(const CudaContext &context, std::shared_ptr<Communicator> ranks)
    : context_(context), ranks_(std::move(ranks)), limits_(ranks_->timeout()), watch_(std::make_shared<Watch>()) {
  ranks_->OnFailure([watch = watch_](const absl::Status &failure) {
    std::lock_guard<std::mutex> lock(watch->mutex);
    std::string next = watch->progress ? watch->progress->FindNext() : "";
    watch->failure = next.empty() ? failure : Annotate(failure, absl::StrCat("collective '", next, "'"));
    watch->failed_at = absl::Now();
    watch->changed.notify_all();
  });
  thread_ = std::thread([watch = watch_, ranks = ranks_] { WatchFor(watch, ranks); });
}

absl::Status NcclGroup::Connect() {
  if (api_)
    return absl::OkStatus();
  absl::Status status = Load();
  if (status.ok())
    return status;
  ranks_->Fail(status);
  return Annotate(status, absl::StrCat("cannot connect ", context_.Description(), " with the GPUs of ", size() - 1,
                                       " other ranks through NCCL"));
}

absl::StatusOr<nccl::UniqueId> NcclGroup::ShareId() {
  nccl::UniqueId id = {};
  absl::Status status;
  if (rank() == 0)
    status = api_->ToStatus(api_->GetUniqueId(&id), "GetUniqueId");
  CS336_RETURN_IF_ERROR(status);
  static_assert(sizeof(id) % sizeof(int64_t) == 0);
  int64_t words[sizeof(id) / sizeof(int64_t)];
  std::memcpy(words, &id, sizeof(id));
  CS336_RETURN_IF_ERROR(ranks_->Broadcast(words, words, std::size(words), DType::kI64, /*root=*/0));
  std::memcpy(&id, words, sizeof(id));
  return id;
}

absl::Status NcclGroup::Load() {
  CS336_ASSIGN_OR_RETURN(api_, NcclApi::Load());
  CurrentContext current(context_);
  CS336_RETURN_IF_ERROR(current.status());
  CS336_ASSIGN_OR_RETURN(nccl::UniqueId id, ShareId());
  nccl::Config config;
  config.blocking = 0;
  std::lock_guard<std::mutex> lock(watch_->mutex);
  // The thread that would abort the communicator has ended.
  CS336_RETURN_IF_ERROR(watch_->failure);
  watch_->api = api_;
  return SettleLocked(api_->CommInitRankConfig(&watch_->comm, size(), id, rank(), &config), "CommInitRankConfig");
}

void NcclGroup::WatchFor(const std::shared_ptr<Watch> &watch, const std::shared_ptr<Communicator> &ranks) {
  nccl::Comm aborted = nullptr;
  std::shared_ptr<const NcclApi> api;
  // Longer than the time after which the group misses a silent rank, whose failure says more.
  absl::Duration limit = TimeLimits(ranks->timeout()).wait;
  absl::Duration pause = std::clamp(limit / 8, absl::Milliseconds(5), absl::Milliseconds(200));
  {
    std::unique_lock<std::mutex> lock(watch->mutex);
    auto is_over = [&] { return watch->is_over || !watch->failure.ok(); };
    while (!watch->changed.wait_for(lock, absl::ToChronoNanoseconds(pause), is_over)) {
      std::string stalled = watch->progress ? watch->progress->FindStalled(absl::Now(), limit) : "";
      if (stalled.empty())
        continue;
      // The failure comes back from the group.
      lock.unlock();
      ranks->Fail(absl::DeadlineExceededError(absl::StrCat("no collective has ended for ", absl::FormatDuration(limit),
                                                           ", while '", stalled, "' waits for other ranks")));
      lock.lock();
      watch->changed.wait(lock, is_over);
      break;
    }
    if (!watch->failure.ok()) {
      aborted = std::exchange(watch->comm, nullptr);
      api = watch->api;
      if (watch->progress)
        watch->progress->Abandon();
    }
    watch->progress = nullptr;
  }
  // Ends the collectives at once, then waits for graphs that contain some to be destroyed.
  if (aborted)
    api->CommAbort(aborted);
  std::lock_guard<std::mutex> lock(watch->mutex);
  watch->has_ended = true;
  watch->changed.notify_all();
}

NcclGroup::~NcclGroup() {
  ranks_->OnFailure(nullptr);
  CurrentContext current(context_);
  {
    std::unique_lock<std::mutex> lock(watch_->mutex);
    if (watch_->failure.ok() && watch_->comm)
      if (SettleLocked(api_->CommFinalize(watch_->comm), "CommFinalize").ok())
        api_->CommDestroy(std::exchange(watch_->comm, nullptr));
    // A communicator that cannot be finalized is aborted.
    if (watch_->comm)
      watch_->failure.Update(absl::UnavailableError("the group cannot be left"));
    watch_->is_over = true;
    watch_->changed.notify_all();
    if (!context_.is_lost())
      watch_->changed.wait_for(lock, absl::ToChronoNanoseconds(limits_.abort), [&] { return watch_->has_ended; });
    // A thread that NCCL keeps waiting goes on with what it shares, and NCCL with its memory of the device.
    if (!watch_->has_ended) {
      context_.GiveUp();
      thread_.detach();
    }
  }
  if (thread_.joinable())
    thread_.join();
}

absl::Status NcclGroup::SettleLocked(int result, const char *call) {
  // Some calls return success before they are done.
  int state = result == nccl::kSuccess ? nccl::kInProgress : result;
  absl::Time end = absl::Now() + limits_.wait;
  while (state == nccl::kInProgress) {
    if (!watch_->comm)
      return watch_->failure;
    CS336_RETURN_IF_ERROR(api_->ToStatus(api_->CommGetAsyncError(watch_->comm, &state), "CommGetAsyncError"));
    if (state != nccl::kInProgress)
      break;
    if (absl::Now() > end)
      return absl::DeadlineExceededError(
          absl::StrCat("nccl", call, ": another rank does not take part for ", absl::FormatDuration(limits_.wait)));
    // The thread may abort the communicator between two looks.
    watch_->mutex.unlock();
    absl::SleepFor(kPause);
    watch_->mutex.lock();
  }
  return api_->ToStatus(state, call);
}

absl::Status NcclGroup::Enqueue(const char *call, absl::FunctionRef<int(nccl::Comm)> enqueue) {
  std::lock_guard<std::mutex> lock(watch_->mutex);
  if (!watch_->comm)
    return watch_->failure;
  // NCCL enqueues with a thread of its own.
  LentCommandScope scope;
  CS336_RETURN_IF_ERROR(api_->ToStatus(api_->GroupStart(), "GroupStart"));
  int result = enqueue(watch_->comm);
  int ended = api_->GroupEnd();
  if (result != nccl::kSuccess && result != nccl::kInProgress)
    return api_->ToStatus(result, call);
  return SettleLocked(ended, call);
}

absl::Status NcclGroup::CountCollectives(DeviceMemory &memory) {
  CS336_ASSIGN_OR_RETURN(progress_, CollectiveProgress::Create(context_, memory));
  std::lock_guard<std::mutex> lock(watch_->mutex);
  watch_->progress = progress_;
  return absl::OkStatus();
}

void NcclGroup::StopCounting() {
  std::lock_guard<std::mutex> lock(watch_->mutex);
  watch_->progress = nullptr;
  progress_ = nullptr;
}

void NcclGroup::Expect(const CollectiveProgress::Names &names) {
  if (progress_ && !names->empty())
    ranks_->NoteProgress(progress_->Expect(names));
}

absl::Status NcclGroup::Failure() const {
  std::lock_guard<std::mutex> lock(watch_->mutex);
  return watch_->failure;
}

bool NcclGroup::ShouldGiveUp() const {
  std::lock_guard<std::mutex> lock(watch_->mutex);
  return !watch_->failure.ok() && absl::Now() > watch_->failed_at + limits_.abort;
}

} // namespace cs336::runtime
