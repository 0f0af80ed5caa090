//===- Storage.cpp - Aligned host memory ----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Storage.h"

#include "parallel/Parallel.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace cs336::runtime {

namespace {

/// Smaller requests neither read the system's counters nor use large pages.
constexpr int64_t kLargeRequest = int64_t{64} << 20;
constexpr int64_t kLargePage = int64_t{2} << 20;

absl::Status CannotAllocate(int64_t bytes, absl::string_view why = "") {
  return absl::ResourceExhaustedError(absl::StrCat("cannot allocate ", FormatBytes(bytes), " of host memory", why));
}

/// Checks a large request against the available memory: Linux promises more
/// memory than it has, and kills a process that uses it.
absl::Status CheckIsAvailable(int64_t bytes) {
  if (bytes < 0)
    return absl::InvalidArgumentError(absl::StrCat("cannot allocate ", bytes, " bytes"));
  if (bytes >= kLargeRequest)
    if (int64_t available = AvailableHostMemory(); bytes > available)
      return CannotAllocate(bytes, absl::StrCat(": ", FormatBytes(available), " are available"));
  return absl::OkStatus();
}

/// Requests large pages: each page causes a fault when it is first touched, and
/// more work when it is pinned for a GPU. A system without large pages uses
/// small ones.
void AskForLargePages(void *memory, int64_t bytes) { madvise(memory, bytes, MADV_HUGEPAGE); }

} // namespace

std::string FormatBytes(int64_t bytes) {
  constexpr absl::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return absl::StrCat(bytes, " bytes");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  // absl::StrFormat allocates in a destructor, which ends the process if memory is exhausted.
  char text[64];
  absl::SNPrintF(text, sizeof(text), "%.2f %s (%d bytes)", value, kUnits[unit], bytes);
  return text;
}

void Storage::Release::operator()(void *memory) const {
  if (mapped_bytes != 0)
    munmap(memory, mapped_bytes);
  else
    ::operator delete(memory, alignment);
}

absl::StatusOr<Storage> Storage::Allocate(int64_t bytes, int64_t alignment) {
  CS336_RETURN_IF_ERROR(CheckIsAvailable(bytes));
  bool is_large = bytes >= kLargeRequest;
  Release release{static_cast<std::align_val_t>(is_large ? std::max(alignment, kLargePage) : alignment), 0};
  void *memory = ::operator new(std::max<int64_t>(bytes, 1), release.alignment, std::nothrow);
  if (!memory)
    return CannotAllocate(bytes);
  if (is_large)
    AskForLargePages(memory, bytes);
  ParallelFill(memory, 0, bytes);
  Storage storage;
  storage.data_ = {memory, release};
  storage.size_ = bytes;
  return storage;
}

absl::StatusOr<Storage> Storage::Reserve(int64_t bytes) {
  CS336_RETURN_IF_ERROR(CheckIsAvailable(bytes));
  int64_t page = sysconf(_SC_PAGESIZE), whole_pages = std::max(AddBytes(bytes, page - 1) / page, int64_t{1}) * page;
  void *memory = mmap(nullptr, whole_pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return CannotAllocate(bytes);
  AskForLargePages(memory, whole_pages);
  Storage storage;
  storage.data_ = {memory, Release{static_cast<std::align_val_t>(kAlignment), whole_pages}};
  storage.size_ = bytes;
  return storage;
}

} // namespace cs336::runtime
