//===- CudaInputFeed.cpp - Inputs that come during a run ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaInputFeed.h"

#include "cs336/runtime/Storage.h"
#include "memory/BlockLayout.h"
#include "status/StatusMacros.h"

#include <array>

namespace cs336::runtime {

namespace {

class CudaInputFeed : public InputFeed {
public:
  CudaInputFeed(const CudaContext &context, char *inputs, int64_t bytes)
      : context_(context), inputs_(ToDevicePointer(inputs)), bytes_(bytes) {}
  ~CudaInputFeed() override {
    CurrentContext current(context_);
    if (stream_)
      context_.driver().StreamDestroy(stream_).IgnoreError();
  }

  absl::Status Allocate(CudaMemory &memory) {
    CurrentContext current(context_);
    CS336_RETURN_IF_ERROR(current.status());
    CS336_RETURN_IF_ERROR(context_.driver().StreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    for (Slot &slot : slots_) {
      CS336_ASSIGN_OR_RETURN(slot.host, memory.AllocateStaging(bytes_));
      CS336_ASSIGN_OR_RETURN(slot.device, memory.Allocate(bytes_, BlockLayout::kAlignment));
      CS336_ASSIGN_OR_RETURN(slot.sent, CudaEvent::Create(context_));
      CS336_ASSIGN_OR_RETURN(slot.taken, CudaEvent::Create(context_));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<char *> Begin() override {
    Slot &slot = slots_[turn_];
    CS336_RETURN_IF_ERROR(slot.sent.Synchronize());
    return slot.host.data();
  }

  absl::Status Send() override {
    if (bytes_ == 0)
      return absl::OkStatus();
    Slot &slot = slots_[turn_];
    turn_ ^= 1;
    const DriverApi &driver = context_.driver();
    CurrentContext current(context_);
    CS336_RETURN_IF_ERROR(current.status());
    CUdeviceptr device = ToDevicePointer(slot.device.data());
    CS336_RETURN_IF_ERROR(slot.taken.Block(stream_));
    CS336_RETURN_IF_ERROR(driver.MemcpyHtoDAsync(device, slot.host.data(), bytes_, stream_));
    CS336_RETURN_IF_ERROR(slot.sent.Record(stream_));
    CS336_RETURN_IF_ERROR(slot.sent.Block(context_.stream()));
    CS336_RETURN_IF_ERROR(driver.MemcpyAsync(inputs_, device, bytes_, context_.stream()));
    return slot.taken.Record(context_.stream());
  }

private:
  struct Slot {
    MemoryBlock host, device;
    CudaEvent sent;  // From the host to the device.
    CudaEvent taken; // From there to the entry's inputs.
  };

  const CudaContext &context_;
  CUdeviceptr inputs_;
  int64_t bytes_;
  CUstream stream_ = nullptr;
  std::array<Slot, 2> slots_;
  int turn_ = 0;
};

} // namespace

absl::StatusOr<std::unique_ptr<InputFeed>> CreateCudaInputFeed(const CudaContext &context, CudaMemory &memory,
                                                               char *inputs, int64_t bytes) {
  auto feed = std::make_unique<CudaInputFeed>(context, inputs, bytes);
  CS336_RETURN_IF_ERROR(feed->Allocate(memory));
  return feed;
}

int64_t CudaInputFeedBytes(int64_t bytes) { return AddBytes(bytes, bytes); }

} // namespace cs336::runtime
