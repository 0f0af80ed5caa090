//===- InputFile.cpp - Files that are read --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/InputFile.h"

#include "file/FileDescriptor.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <fcntl.h>
#include <string>

namespace cs336::runtime {

absl::StatusOr<InputFile> InputFile::Open(absl::string_view path) {
  CS336_RETURN_IF_ERROR(CheckPath(path));
  // Opening a pipe must fail below instead of waiting for its writer.
  int descriptor = open(std::string(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return FileError(errno, absl::StrCat("cannot open '", path, "'"));
  InputFile file(descriptor, {});
  if (fstat(descriptor, &file.info_) != 0)
    return FileError(errno, absl::StrCat("cannot read '", path, "'"));
  if (!S_ISREG(file.info_.st_mode))
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a regular file"));
  return file;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0)
    close(descriptor_);
}

absl::Status InputFile::Read(int64_t offset, int64_t size, void *to) const {
  char *next = static_cast<char *>(to);
  while (size > 0) {
    ssize_t read = pread(descriptor_, next, size, offset);
    if (read < 0 && errno == EINTR)
      continue;
    if (read < 0)
      return FileError(errno, "cannot read");
    if (read == 0)
      return absl::DataLossError(absl::StrCat("the file was cut short while it was read: it had ", info_.st_size,
                                              " bytes, and ends at ", offset));
    next += read;
    offset += read;
    size -= read;
  }
  return absl::OkStatus();
}

absl::Status InputFile::CheckUnchanged() const {
  struct stat now;
  if (fstat(descriptor_, &now) != 0)
    return FileError(errno, "cannot read");
  if (now.st_size != info_.st_size || now.st_mtim.tv_sec != info_.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != info_.st_mtim.tv_nsec)
    return absl::DataLossError("the file was written to while it was read: read it again when its writer is done");
  return absl::OkStatus();
}

} // namespace cs336::runtime
