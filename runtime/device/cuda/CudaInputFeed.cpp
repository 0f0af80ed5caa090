//===- CudaInputFeed.cpp - Inputs copied during a run ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaInputFeed.h"

#include "cs336/runtime/format/ReservedMemory.h"
#include "memory/BlockLayout.h"
#include "status/StatusMacros.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cs336::runtime {

namespace {

class CudaInputFeed : public InputFeed {
public:
  CudaInputFeed(const CudaContext &context, char *inputs, int64_t bytes)
      : context_(context), inputs_(ToDevicePointer(inputs)), bytes_(bytes) {}
  ~CudaInputFeed() override {
    if (context_.is_lost())
      return;
    CurrentContext current(context_);
    if (stream_)
      context_.driver().StreamDestroy(stream_).IgnoreError();
  }

  absl::Status Allocate(CudaMemory &memory) {
    CurrentContext current(context_);
    CS336_RETURN_IF_ERROR(current.status());
    CS336_RETURN_IF_ERROR(context_.driver().StreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0));
    for (Slot &slot : slots_) {
      CS336_ASSIGN_OR_RETURN(slot.host, memory.AllocateStaging(bytes_));
      CS336_ASSIGN_OR_RETURN(slot.device, memory.Allocate(bytes_, BlockLayout::kAlignment));
      CS336_ASSIGN_OR_RETURN(slot.sent, CudaEvent::Create(context_));
      CS336_ASSIGN_OR_RETURN(slot.taken, CudaEvent::Create(context_));
    }
    CS336_ASSIGN_OR_RETURN(written_, CudaEvent::Create(context_));
    return absl::OkStatus();
  }

  absl::StatusOr<char *> Begin() override {
    Slot &slot = slots_[turn_];
    CS336_RETURN_IF_ERROR(slot.sent.Synchronize());
    parts_.clear();
    return slot.host.data();
  }

  absl::Status Fetch(int64_t offset, const void *src, int64_t bytes) override {
    if (bytes == 0)
      return absl::OkStatus();
    const DriverApi &driver = context_.driver();
    CurrentContext current(context_);
    CS336_RETURN_IF_ERROR(current.status());
    CS336_RETURN_IF_ERROR(WaitForOthers());
    CUdeviceptr host = ToDevicePointer(slots_[turn_].host.data() + offset);
    CS336_RETURN_IF_ERROR(driver.MemcpyAsync(host, ToDevicePointer(src), bytes, stream_));
    return driver.StreamSynchronize(stream_);
  }

  absl::Status TakeFromDevice(int64_t offset, const void *src, int64_t bytes) override {
    if (bytes != 0)
      parts_.push_back({offset, bytes, ToDevicePointer(src)});
    return absl::OkStatus();
  }

  absl::Status Send() override {
    if (bytes_ == 0)
      return absl::OkStatus();
    Slot &slot = slots_[turn_];
    turn_ = (turn_ + 1) % slots_.size();
    CurrentContext current(context_);
    CS336_RETURN_IF_ERROR(current.status());
    CS336_RETURN_IF_ERROR(slot.taken.Block(stream_));
    CS336_RETURN_IF_ERROR(Fill(slot));
    CS336_RETURN_IF_ERROR(slot.sent.Record(stream_));
    CS336_RETURN_IF_ERROR(slot.sent.Block(context_.stream()));
    CS336_RETURN_IF_ERROR(
        context_.driver().MemcpyAsync(inputs_, ToDevicePointer(slot.device.data()), bytes_, context_.stream()));
    CS336_RETURN_IF_ERROR(slot.taken.Record(context_.stream()));
    // The owner of the parts may free them as soon as this returns.
    return parts_.empty() ? absl::OkStatus() : slot.sent.Synchronize();
  }

private:
  /// A part of the inputs in other device memory.
  struct Part {
    int64_t offset, bytes;
    CUdeviceptr src;
  };

  struct Slot {
    MemoryBlock host, device;
    CudaEvent sent;  // After the copy from host to device.
    CudaEvent taken; // After the copy from the slot to the entry's inputs.
  };

  /// Enqueues the copies to the slot's memory on the device.
  absl::Status Fill(Slot &slot) {
    if (!parts_.empty())
      CS336_RETURN_IF_ERROR(WaitForOthers());
    std::sort(parts_.begin(), parts_.end(), [](const Part &a, const Part &b) { return a.offset < b.offset; });
    CUdeviceptr device = ToDevicePointer(slot.device.data());
    int64_t filled = 0;
    for (const Part &part : parts_) {
      CS336_RETURN_IF_ERROR(FillFromHost(slot, filled, part.offset));
      CS336_RETURN_IF_ERROR(context_.driver().MemcpyAsync(device + part.offset, part.src, part.bytes, stream_));
      filled = part.offset + part.bytes;
    }
    return FillFromHost(slot, filled, bytes_);
  }

  absl::Status FillFromHost(Slot &slot, int64_t begin, int64_t end) {
    if (begin == end)
      return absl::OkStatus();
    return context_.driver().MemcpyHtoDAsync(ToDevicePointer(slot.device.data() + begin), slot.host.data() + begin,
                                             end - begin, stream_);
  }

  /// Waits for values in device memory: they are there once the default stream
  /// has done the work that it was given.
  absl::Status WaitForOthers() {
    CS336_RETURN_IF_ERROR(written_.Record(CU_STREAM_LEGACY));
    return written_.Block(stream_);
  }

  const CudaContext &context_;
  CUdeviceptr inputs_;
  int64_t bytes_;
  CUstream stream_ = nullptr;
  std::array<Slot, format::kInputSlots> slots_;
  size_t turn_ = 0;
  std::vector<Part> parts_; // Parts of the next run.
  CudaEvent written_;       // When other code has written its parts.
};

} // namespace

absl::StatusOr<std::unique_ptr<InputFeed>> CreateCudaInputFeed(const CudaContext &context, CudaMemory &memory,
                                                               char *inputs, int64_t bytes) {
  auto feed = std::make_unique<CudaInputFeed>(context, inputs, bytes);
  CS336_RETURN_IF_ERROR(feed->Allocate(memory));
  return feed;
}

} // namespace cs336::runtime
