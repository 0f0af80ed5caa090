//===- MappedFile.cpp - A file's bytes in memory --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/MappedFile.h"

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cs336::runtime {

void MappedFile::Unmap::operator()(const uint8_t *data) const { munmap(const_cast<uint8_t *>(data), size); }

absl::StatusOr<MappedFile> MappedFile::Open(absl::string_view path) {
  // Opening a pipe must fail below, not wait for its writer.
  int descriptor = open(std::string(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open '", path, "'"));
  absl::Cleanup close_descriptor = [descriptor] { close(descriptor); };

  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read '", path, "'"));
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a regular file"));
  MappedFile file;
  if (info.st_size == 0) // Which cannot be mapped.
    return file;
  size_t size = static_cast<size_t>(info.st_size);
  void *data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED)
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot map '", path, "'"));
  file.data_ = {static_cast<const uint8_t *>(data), Unmap{size}};
  file.size_ = size;
  return file;
}

} // namespace cs336::runtime
