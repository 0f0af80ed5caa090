//===- AllocationFaults.cpp - Allocations that fail on demand -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN 2.6 uses what it allocates without a look at whether it got any, and
// calls std::terminate where it has no memory to release what it made. So what
// its functions themselves ask for does not fail; neither does what libgomp asks
// for, which ends the process.
//
//===----------------------------------------------------------------------===//

#include "Faults.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <new>
#include <sys/mman.h>

using namespace cs336::fault_injection;

extern "C" void *__libc_malloc(size_t size);
extern "C" void *__libc_calloc(size_t count, size_t size);
extern "C" void *__libc_realloc(void *memory, size_t size);
extern "C" void *__libc_memalign(size_t alignment, size_t size);

namespace {

/// The address range of a library's code.
struct Range {
  uintptr_t begin = 0, end = 0;
  bool contains(const void *address) const { return reinterpret_cast<uintptr_t>(address) - begin < end - begin; }
};

Range findLibrary(const char *name) {
  struct Search {
    const char *name;
    Range found;
  } search{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto *search = static_cast<Search *>(data);
        if (!strstr(info->dlpi_name, search->name))
          return 0;
        for (int i = 0; i != info->dlpi_phnum; ++i)
          if (const ElfW(Phdr) &segment = info->dlpi_phdr[i]; segment.p_type == PT_LOAD && (segment.p_flags & PF_X))
            search->found = {info->dlpi_addr + segment.p_vaddr, info->dlpi_addr + segment.p_vaddr + segment.p_memsz};
        return 1;
      },
      &search);
  return search.found;
}

bool isExempt(const void *caller) {
  static const Range libraries[] = {findLibrary("libdnnl"), findLibrary("libgomp")};
  for (const Range &library : libraries)
    if (library.contains(caller))
      return true;
  return false;
}

bool fails(const void *caller) {
  return plan.fault != Fault::None && plan.isAboutMemory && !isExempt(caller) && countCall() != Fault::None;
}

void *refuse() {
  errno = ENOMEM;
  return nullptr;
}

} // namespace

/// The C++ library's would call malloc, which would not see the caller.
void *operator new(size_t size) {
  void *memory = fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(size == 0 ? 1 : size);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}

extern "C" {
void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? refuse() : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
  return fails(__builtin_return_address(0)) ? refuse() : __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  return fails(__builtin_return_address(0)) ? refuse() : __libc_realloc(memory, size);
}
void *memalign(size_t alignment, size_t size) {
  return fails(__builtin_return_address(0)) ? refuse() : __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  return fails(__builtin_return_address(0)) ? refuse() : __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  void *block = fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
  if (block)
    *memory = block;
  return block ? 0 : ENOMEM;
}

/// The process that fails this call sees no callers.
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  static auto *next = findNext(&mmap, "mmap");
  bool exempt = isExempt(__builtin_return_address(0));
  plan.progress->exempt += exempt;
  void *memory = next(address, size, protection, flags, file, offset);
  plan.progress->exempt -= exempt;
  return memory;
}
}
