//===- CollectiveProgress.cpp - The collectives that a GPU has done -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CollectiveProgress.h"

#include "device/cuda/CudaMemory.h"
#include "status/StatusMacros.h"

#include "absl/time/clock.h"

#include <algorithm>
#include <new>
#include <utility>

namespace cs336::runtime {

namespace {

/// One thread.
constexpr char kAdvanceSource[] = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .entry advance(.param .u64 counter)
{
  .reg .b64 %counter, %count;

  ld.param.u64 %counter, [counter];
  cvta.to.global.u64 %counter, %counter;
  ld.volatile.global.u64 %count, [%counter];
  add.u64 %count, %count, 1;
  st.volatile.global.u64 [%counter], %count;
}
)";

} // namespace

absl::StatusOr<std::unique_ptr<CollectiveProgress>> CollectiveProgress::Create(const CudaContext &context,
                                                                               DeviceMemory &memory) {
  auto progress = std::make_unique<CollectiveProgress>();
  CS336_ASSIGN_OR_RETURN(progress->memory_, memory.AllocateStaging(sizeof(Words)));
  progress->words_ = new (progress->memory_.data()) Words{};
  CS336_ASSIGN_OR_RETURN(progress->kernel_, PtxKernel::Load(context, kAdvanceSource, "advance"));
  return progress;
}

absl::Status CollectiveProgress::Advance() {
  return kernel_->Launch(/*blocks=*/1, /*threads=*/1, {ToDevicePointer(&words_->done)});
}

int64_t CollectiveProgress::Expect(Names names) {
  std::lock_guard<std::mutex> lock(mutex_);
  // Commands that run one by one are not expected.
  int64_t begin = std::max(runs_.empty() ? last_done_ : runs_.back().end(), done());
  runs_.push_back({begin, std::move(names)});
  return runs_.back().end();
}

std::string CollectiveProgress::FindNext() {
  std::lock_guard<std::mutex> lock(mutex_);
  return NameAfter(done());
}

std::string CollectiveProgress::FindStalled(absl::Time now, absl::Duration limit) {
  std::lock_guard<std::mutex> lock(mutex_);
  int64_t count = done();
  std::string next = NameAfter(count);
  if (next.empty() || count != last_done_ || last_change_ == absl::InfinitePast()) {
    last_done_ = count;
    last_change_ = now;
    return "";
  }
  return now - last_change_ < limit ? "" : next;
}

std::string CollectiveProgress::NameAfter(int64_t count) {
  while (!runs_.empty() && runs_.front().end() <= count)
    runs_.pop_front();
  if (runs_.empty())
    return "";
  const Run &run = runs_.front();
  return (*run.names)[std::max<int64_t>(0, count - run.begin)];
}

} // namespace cs336::runtime
