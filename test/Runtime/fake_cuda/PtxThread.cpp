//===- PtxThread.cpp - A thread of an interpreted kernel ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/PtxThread.h"

#include "absl/strings/str_cat.h"

namespace cs336::runtime::testing {

char *PtxThread::Global(uint64_t address, uint32_t bytes) {
  char *host = global_.Find(address, bytes);
  if (!host)
    Fail(absl::StrCat(bytes, " bytes of global memory at ", absl::Hex(address), " are outside of all allocations"));
  else if (address % bytes != 0)
    Fail(absl::StrCat("global memory at ", absl::Hex(address), " is not aligned to ", bytes, " bytes"));
  return has_ended_ ? nullptr : host;
}

void PtxThread::ReadShared(uint32_t address, void *values, uint32_t bytes) {
  if (!shared_.Contains(address, bytes) || address % bytes != 0)
    return Fail(absl::StrCat(bytes, " bytes of shared memory at ", absl::Hex(address), " are outside or not aligned"));
  const SharedMemory::Place &place = shared_.PlaceOf(address);
  if (place.thread != number_)
    return Fail(absl::StrCat("shared memory at ", absl::Hex(address), " was not written by this thread"));
  if (place.is_awaited)
    return Fail(absl::StrCat("shared memory at ", absl::Hex(address), " is read before its copy is awaited"));
  std::memcpy(values, shared_.At(address), bytes);
}

void PtxThread::BeginCopy(uint32_t to, uint64_t from, uint32_t copied_bytes) {
  constexpr uint32_t kBytes = SharedMemory::kPlace;
  if (!shared_.Contains(to, kBytes) || to % kBytes != 0)
    return Fail(absl::StrCat("a copy to shared memory at ", absl::Hex(to), ", outside or not aligned"));
  if (copied_bytes > kBytes || from % kBytes != 0)
    return Fail(absl::StrCat("a copy of ", copied_bytes, " bytes from global memory at ", absl::Hex(from)));
  const char *host = global_.Find(from, copied_bytes);
  if (!host)
    return Fail(absl::StrCat("a copy from global memory at ", absl::Hex(from), ", outside of all allocations"));
  SharedMemory::Place &place = shared_.PlaceOf(to);
  if (place.is_awaited || (place.thread != number_ && place.thread != SharedMemory::Place::kNobody))
    return Fail(absl::StrCat("a copy to shared memory at ", absl::Hex(to), ", which another copy writes"));
  place = {number_, /*is_awaited=*/true};
  copies_.push_back({to, copied_bytes, host});
  ++copies_of_group_;
}

void PtxThread::CommitCopies() { groups_.push_back(std::exchange(copies_of_group_, 0)); }

void PtxThread::WaitForCopies(size_t groups) {
  for (; groups_.size() > groups; groups_.pop_front())
    for (size_t left = groups_.front(); left != 0; --left, copies_.pop_front()) {
      const Copy &copy = copies_.front();
      std::memset(shared_.At(copy.to), 0, SharedMemory::kPlace);
      std::memcpy(shared_.At(copy.to), copy.from, copy.bytes);
      shared_.PlaceOf(copy.to).is_awaited = false;
    }
}

} // namespace cs336::runtime::testing
