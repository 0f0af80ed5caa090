//===- LockFile.cpp - A file that one process holds -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/LockFile.h"

#include "FileDescriptor.h"
#include "cs336/runtime/ReplaceFile.h"
#include "status/StatusMacros.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace cs336::runtime {

static std::string DescribeProcess() {
  char host[256] = "";
  // A name that is too long may lack its terminator.
  if (gethostname(host, sizeof(host) - 1) != 0)
    host[0] = '\0';
  return absl::StrCat("process ", getpid(), *host == '\0' ? "" : " on ", host);
}

/// Returns the text of the file, or "another process" while the holder has not written it.
static std::string ReadHolder(int descriptor) {
  char text[512];
  ssize_t size = pread(descriptor, text, sizeof(text), 0);
  absl::string_view holder = absl::StripAsciiWhitespace({text, static_cast<size_t>(size > 0 ? size : 0)});
  return holder.empty() ? "another process" : std::string(holder);
}

absl::StatusOr<LockFile> LockFile::TryLock(const std::string &path) {
  CS336_RETURN_IF_ERROR(CheckPath(path));
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644));
  if (!file.is_open())
    return FileError(errno, "cannot open it");
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return absl::AlreadyExistsError(absl::StrCat(ReadHolder(file.get()), " holds the lock"));
    if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP)
      return absl::UnimplementedError("the file system has no locks");
    return FileError(errno, "cannot lock it");
  }
  // A holder that was killed has left its description.
  if (ftruncate(file.get(), 0) != 0)
    return FileError(errno, "cannot write it");
  CS336_RETURN_IF_ERROR(WriteBytes(file.get(), DescribeProcess() + "\n"));
  return LockFile(file.Release());
}

LockFile::~LockFile() {
  if (descriptor_ < 0)
    return;
  // The description is for messages alone, so that its remains do no harm.
  (void)!ftruncate(descriptor_, 0);
  close(descriptor_);
}

} // namespace cs336::runtime
