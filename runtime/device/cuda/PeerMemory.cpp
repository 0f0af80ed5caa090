//===- PeerMemory.cpp - Memory of the other ranks' GPUs -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerMemory.h"

#include "device/cuda/CudaMemory.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <fstream>
#include <random>

namespace cs336::runtime {

namespace {

/// Returns a random number of this process. The system's numbers of processes may repeat among containers.
int64_t ProcessNumber() {
  static const int64_t number = [] {
    std::random_device random;
    return static_cast<int64_t>(uint64_t{random()} << 32 | random());
  }();
  return number;
}

/// The number that Linux draws when a host starts, as text of 36 characters; empty if it cannot be read.
using HostNumber = std::array<char, 40>;

HostNumber ReadHostNumber() {
  HostNumber number = {};
  std::ifstream("/proc/sys/kernel/random/boot_id").read(number.data(), 36);
  return number;
}

} // namespace

/// Ranks gather it as words of 64 bits.
struct PeerMemory::Place {
  HostNumber host;
  int64_t process;
  CUcontext context;     // Context of the device, for that process.
  CUdeviceptr start;     // Start of the allocation, in that process.
  int64_t offset;        // Bytes from the start.
  CUipcMemHandle handle; // Handle of the allocation, for other processes.
};

PeerMemory::~PeerMemory() {
  if (context_.is_lost())
    return;
  CurrentContext current(context_);
  for (const auto &[place, start] : opened_)
    if (start != place.second)
      context_.driver().IpcCloseMemHandle(start).IgnoreError();
}

absl::StatusOr<PeerMemory::Place> PeerMemory::Describe(const void *address) const {
  Place place = {};
  place.host = ReadHostNumber();
  place.process = ProcessNumber();
  place.context = context_.context();
  size_t bytes = 0;
  CUdeviceptr at = ToDevicePointer(address);
  CS336_RETURN_IF_ERROR(context_.driver().MemGetAddressRange(&place.start, &bytes, at));
  place.offset = static_cast<int64_t>(at - place.start);
  CS336_RETURN_IF_ERROR(context_.driver().IpcGetMemHandle(&place.handle, place.start));
  return place;
}

absl::StatusOr<CUdeviceptr> PeerMemory::Reach(int rank, const Place &place) {
  // A driver may open the handle of another host: it would then be memory of some process here.
  if (place.host != ReadHostNumber() || place.host.front() == 0)
    return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " is on another host"));
  CUdeviceptr &start = opened_[{rank, place.start}];
  if (start == 0 && place.process == ProcessNumber()) {
    absl::Status enabled = context_.driver().CtxEnablePeerAccess(place.context, 0);
    if (!enabled.ok() && !absl::IsAlreadyExists(enabled))
      return enabled;
    start = place.start;
  } else if (start == 0) {
    CS336_RETURN_IF_ERROR(context_.driver().IpcOpenMemHandle(&start, place.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  }
  return start + place.offset;
}

absl::StatusOr<PeerMemory::Addresses> PeerMemory::Reach(absl::Span<const Place> places) {
  Addresses addresses(size());
  size_t count = places.size() / addresses.size();
  for (size_t i = 0; i != places.size(); ++i) {
    auto owner = static_cast<int>(i / count);
    CUdeviceptr address = places[i].start + places[i].offset;
    if (owner != rank()) {
      CS336_ASSIGN_OR_RETURN(address, Reach(owner, places[i]));
    }
    addresses[owner].push_back(address);
  }
  return addresses;
}

absl::StatusOr<PeerMemory::Addresses> PeerMemory::Share(absl::Span<const void *const> addresses) {
  CurrentContext current(context_);
  absl::Status status = current.status();
  std::vector<Place> own(addresses.size());
  for (size_t i = 0; i != own.size() && status.ok(); ++i) {
    absl::StatusOr<Place> place = Describe(addresses[i]);
    status = place.status();
    own[i] = place.value_or(Place());
  }
  // A rank that has failed takes part, because the others wait for it.
  static_assert(sizeof(Place) % sizeof(int64_t) == 0);
  std::vector<Place> places(own.size() * size());
  auto words = static_cast<int64_t>(own.size() * sizeof(Place) / sizeof(int64_t));
  CS336_RETURN_IF_ERROR(ranks_.AllGather(own.data(), places.data(), words, DType::kI64));
  absl::StatusOr<Addresses> reached = status.ok() ? Reach(places) : absl::StatusOr<Addresses>(status);
  int64_t failures = reached.ok() ? 0 : 1;
  CS336_RETURN_IF_ERROR(ranks_.AllReduce(&failures, &failures, 1, DType::kI64, Reduction::kSum));
  if (failures != 0)
    return absl::FailedPreconditionError(
        absl::StrCat("GPUs of ", failures, " ranks cannot access the memory of the others",
                     reached.ok() ? "" : absl::StrCat("; here: ", reached.status().message())));
  return reached;
}

} // namespace cs336::runtime
