//===- CacheFolder.cpp - The folder of cached results ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/CacheFolder.h"

#include "file/FileDescriptor.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>

namespace cs336::runtime {

namespace {

constexpr absl::string_view kOtherFolder = "name another folder with CS336_CACHE_DIR";

std::string GetVariable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

bool IsOwnerTrusted(const struct stat &info) { return info.st_uid == geteuid() || info.st_uid == 0; }

absl::Status CheckOwner(const std::string &folder, const struct stat &info) {
  if (!IsOwnerTrusted(info))
    return absl::PermissionDeniedError(absl::StrCat("the cache folder '", folder, "' belongs to user ", info.st_uid,
                                                    ", and this process runs as user ", geteuid(), ": ", kOtherFolder));
  if (info.st_mode & S_IWOTH)
    return absl::PermissionDeniedError(absl::StrCat("every user may write to the cache folder '", folder,
                                                    "': run 'chmod o-w ", folder, "', or ", kOtherFolder));
  return absl::OkStatus();
}

/// Opens the folder. Returns a closed descriptor if there is no such folder.
absl::StatusOr<FileDescriptor> OpenFolder(const std::string &folder) {
  FileDescriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.is_open()) {
    if (errno == ENOENT)
      return descriptor;
    return FileError(errno, absl::StrCat("the cache folder '", folder, "' cannot be opened"));
  }
  struct stat info;
  if (fstat(descriptor.get(), &info) != 0)
    return FileError(errno, absl::StrCat("the cache folder '", folder, "' cannot be examined"));
  CS336_RETURN_IF_ERROR(CheckOwner(folder, info));
  return descriptor;
}

absl::StatusOr<std::string> ReadAll(const FileDescriptor &file, int64_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done != bytes.size()) {
    ssize_t count = read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return FileError(errno, "cannot read");
    if (count == 0) // The file was truncated meanwhile.
      break;
    done += count;
  }
  bytes.resize(done);
  return bytes;
}

} // namespace

std::string CacheFolder() {
  if (std::string folder = GetVariable("CS336_CACHE_DIR"); !folder.empty())
    return folder;
  if (std::string folder = GetVariable("XDG_CACHE_HOME"); !folder.empty())
    return folder + "/cs336-opt";
  if (std::string home = GetVariable("HOME"); !home.empty())
    return home + "/.cache/cs336-opt";
  return "";
}

absl::Status CheckCacheFolder(const std::string &folder) {
  for (const char *part : {"", "/executables", "/cubins"}) {
    absl::Status status = OpenFolder(folder + part).status();
    if (absl::IsPermissionDenied(status))
      return status;
  }
  return absl::OkStatus(); // Other errors are reported when entries are written.
}

absl::Status MakeCacheFolder(const std::string &folder) {
  if (mkdir(folder.c_str(), 0700) == 0)
    return absl::OkStatus();
  if (errno == ENOENT) {
    size_t parent = folder.find_last_of('/', folder.find_last_not_of('/'));
    if (parent != std::string::npos && parent != 0) {
      CS336_RETURN_IF_ERROR(MakeCacheFolder(folder.substr(0, parent)));
      if (mkdir(folder.c_str(), 0700) == 0)
        return absl::OkStatus();
    }
  }
  struct stat info;
  if (errno == EEXIST && stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return absl::OkStatus();
  return FileError(errno == EEXIST ? ENOTDIR : errno, "cannot make the folder");
}

absl::StatusOr<std::string> ReadCacheFile(const std::string &folder, const std::string &name, int64_t most_bytes) {
  CS336_ASSIGN_OR_RETURN(FileDescriptor opened, OpenFolder(folder));
  if (!opened.is_open())
    return absl::NotFoundError(absl::StrCat("there is no folder '", folder, "'"));
  FileDescriptor file(openat(opened.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!file.is_open() || fstat(file.get(), &info) != 0)
    return FileError(errno, absl::StrCat("'", name, "' cannot be opened"));
  if (!S_ISREG(info.st_mode) || !IsOwnerTrusted(info) || info.st_size > most_bytes)
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is not a file of this user with at most ", most_bytes, " bytes"));
  // Sets the time of last use, also on file systems that do not record when files are read: the cache
  // evicts the least recently used file.
  const struct timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  futimens(file.get(), times);
  return ReadAll(file, info.st_size);
}

} // namespace cs336::runtime
