//===- CudaContext.cpp - One device and the streams of its work -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaContext.h"

#include "device/cuda/Architecture.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cs336::runtime {

namespace {

constexpr int kNameSize = 256;

absl::StatusOr<CUdevice> FindDevice(const DriverApi &driver, int ordinal) {
  int count = 0;
  CS336_RETURN_IF_ERROR(driver.DeviceGetCount(&count));
  if (ordinal < 0 || ordinal >= count)
    return absl::NotFoundError(absl::StrCat("there is no device cuda:", ordinal, ": the CUDA driver finds ", count,
                                            count == 1 ? " device" : " devices"));
  CUdevice device = 0;
  CS336_RETURN_IF_ERROR(driver.DeviceGet(&device, ordinal));
  return device;
}

absl::StatusOr<std::string> NameOf(const DriverApi &driver, CUdevice device) {
  char name[kNameSize] = {};
  CS336_RETURN_IF_ERROR(driver.DeviceGetName(name, kNameSize, device));
  return std::string(name);
}

absl::StatusOr<ComputeCapability> CapabilityOf(const DriverApi &driver, CUdevice device) {
  ComputeCapability capability;
  CS336_RETURN_IF_ERROR(
      driver.DeviceGetAttribute(&capability.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  CS336_RETURN_IF_ERROR(
      driver.DeviceGetAttribute(&capability.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  return capability;
}

} // namespace

absl::StatusOr<std::unique_ptr<CudaContext>> CudaContext::Create(int ordinal) {
  CS336_ASSIGN_OR_RETURN(std::shared_ptr<const DriverApi> driver, DriverApi::Load());
  std::unique_ptr<CudaContext> context(new CudaContext(std::move(driver)));
  context->ordinal_ = ordinal;
  CS336_ASSIGN_OR_RETURN(context->device_, FindDevice(context->driver(), ordinal));
  CS336_ASSIGN_OR_RETURN(context->name_, NameOf(context->driver(), context->device_));
  CS336_ASSIGN_OR_RETURN(context->compute_capability_, CapabilityOf(context->driver(), context->device_));
  CS336_RETURN_IF_ERROR(Annotate(context->Start(), absl::StrCat(context->Description(), " does not start")));
  return context;
}

absl::Status CudaContext::Start() {
  CS336_RETURN_IF_ERROR(driver_->DeviceGetAttribute(&shared_bytes_per_block_,
                                                    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device_));
  CS336_RETURN_IF_ERROR(driver_->DevicePrimaryCtxRetain(&context_, device_));
  CurrentContext current(*this);
  CS336_RETURN_IF_ERROR(current.status());
  CS336_RETURN_IF_ERROR(driver_->StreamCreateWithPriority(&main_, CU_STREAM_NON_BLOCKING, 0));
  current_ = main_;
  return absl::OkStatus();
}

absl::StatusOr<CUstream> CudaContext::NumberedStream(int64_t number) const {
  if (number == 0)
    return main_;
  CUstream &stream = numbered_[number];
  if (!stream) {
    CS336_ASSIGN_OR_RETURN(stream, AddStream());
  }
  return stream;
}

absl::StatusOr<CUstream> CudaContext::AddStream() const {
  CurrentContext current(*this);
  CS336_RETURN_IF_ERROR(current.status());
  int lowest = 0, highest = 0;
  CS336_RETURN_IF_ERROR(driver_->CtxGetStreamPriorityRange(&lowest, &highest));
  CUstream stream = nullptr;
  CS336_RETURN_IF_ERROR(driver_->StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, highest));
  added_.push_back(stream);
  return stream;
}

template <typename Query>
absl::Status CudaContext::Wait(const Query &query) const {
  constexpr absl::Duration kBusy = absl::Milliseconds(1), kPause = absl::Microseconds(20);
  absl::Time begin = absl::Now();
  for (;;) {
    absl::Status state = query();
    if (!absl::IsCancelled(state)) {
      absl::Status failure = monitor_->Failure();
      return failure.ok() ? state : failure;
    }
    if (monitor_->ShouldGiveUp()) {
      GiveUp();
      return monitor_->Failure();
    }
    if (absl::Now() - begin < kBusy)
      std::this_thread::yield();
    else
      absl::SleepFor(kPause);
  }
}

void CudaContext::GiveUp() const {
  is_lost_ = true;
  // A thread that aborts NCCL's communicator still uses what destructors of libraries would take away.
  static const int registered = on_exit(
      [](int code, void *) {
        std::fflush(nullptr);
        _exit(code);
      },
      nullptr);
  (void)registered;
}

absl::Status CudaContext::WaitForStream() const {
  if (!monitor_)
    return driver_->StreamSynchronize(main_);
  return Wait([this] { return driver_->StreamQuery(main_); });
}

absl::Status CudaContext::WaitForEvent(CUevent event) const {
  if (!monitor_)
    return driver_->EventSynchronize(event);
  return Wait([this, event] { return driver_->EventQuery(event); });
}

WorkMonitor::~WorkMonitor() = default;

CudaContext::~CudaContext() {
  if (is_lost_)
    return;
  if (main_) {
    CurrentContext current(*this);
    for (CUstream stream : added_)
      driver().StreamDestroy(stream).IgnoreError();
    driver().StreamDestroy(main_).IgnoreError();
  }
  if (context_)
    driver().DevicePrimaryCtxRelease(device_).IgnoreError();
}

std::string CudaContext::Description() const { return absl::StrCat("cuda:", ordinal_, " (", name_, ")"); }

std::string ToString(ComputeCapability capability) { return absl::StrCat(capability.major, ".", capability.minor); }

absl::StatusOr<std::string> QueryCudaTarget(int ordinal) {
  CS336_ASSIGN_OR_RETURN(std::shared_ptr<const DriverApi> driver, DriverApi::Load());
  CS336_ASSIGN_OR_RETURN(CUdevice device, FindDevice(*driver, ordinal));
  CS336_ASSIGN_OR_RETURN(ComputeCapability capability, CapabilityOf(*driver, device));
  return TargetFor(capability);
}

absl::StatusOr<CudaInfo> QueryCuda() {
  CS336_ASSIGN_OR_RETURN(std::shared_ptr<const DriverApi> driver, DriverApi::Load());
  CudaInfo info;
  info.driver_version = driver->version();
  int count = 0;
  CS336_RETURN_IF_ERROR(driver->DeviceGetCount(&count));
  if (count == 0)
    return absl::NotFoundError("the CUDA driver finds no device");
  for (int ordinal = 0; ordinal != count; ++ordinal) {
    CudaDeviceInfo &found = info.devices.emplace_back();
    found.ordinal = ordinal;
    CS336_ASSIGN_OR_RETURN(CUdevice device, FindDevice(*driver, ordinal));
    CS336_ASSIGN_OR_RETURN(found.name, NameOf(*driver, device));
    CS336_ASSIGN_OR_RETURN(found.compute_capability, CapabilityOf(*driver, device));
  }
  return info;
}

absl::StatusOr<CudaMemoryInfo> QueryCudaMemory(int ordinal) {
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<CudaContext> context, CudaContext::Create(ordinal));
  CurrentContext current(*context);
  CS336_RETURN_IF_ERROR(current.status());
  size_t free = 0, total = 0;
  CS336_RETURN_IF_ERROR(context->driver().MemGetInfo(&free, &total));
  return CudaMemoryInfo{static_cast<int64_t>(total), static_cast<int64_t>(free)};
}

} // namespace cs336::runtime
