//===- ReplaceFile.cpp - Replacing files atomically -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A writer holds a lock (flock) on its temporary file. The system releases the
// lock when the writer ends, for any reason and in any container. A temporary
// file whose lock can be acquired is therefore abandoned.
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/ReplaceFile.h"

#include "file/FileDescriptor.h"
#include "status/StatusMacros.h"

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

namespace cs336::runtime {

namespace {

constexpr size_t kDigits = 16;
constexpr absl::string_view kExtension = ".tmp";
constexpr mode_t kPermissions = 0777;

/// On a file system without locks, a temporary file that was not written to for
/// this long is abandoned.
constexpr time_t kSecondsUntilDead = 24 * 60 * 60;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// A path, split into its open folder and the name in this folder.
struct Target {
  FileDescriptor folder;
  std::string folder_path; // Ends in '/' unless it is empty.
  std::string name;
};

absl::StatusOr<Target> OpenTarget(absl::string_view path) {
  CS336_RETURN_IF_ERROR(CheckPath(path));
  Target target;
  size_t begin = path.rfind('/') + 1; // 0 without one.
  target.folder_path = std::string(path.substr(0, begin));
  target.name = std::string(path.substr(begin));
  if (target.name.empty() || target.name == "." || target.name == "..")
    return absl::InvalidArgumentError("the path names a folder, not a file");
  const char *folder = begin == 0 ? "." : target.folder_path.c_str();
  target.folder = FileDescriptor(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!target.folder.is_open() && errno == EACCES) // A folder may allow writing but not listing.
    target.folder = FileDescriptor(open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!target.folder.is_open())
    return FileError(errno, "its folder cannot be opened");
  return target;
}

/// Returns the prefix of the names of all temporary files of `name`: the name
/// itself, truncated if the whole would be too long for a file system.
std::string TemporaryPrefix(absl::string_view name) {
  return absl::StrCat(name.substr(0, NAME_MAX - 1 - kDigits - kExtension.size()), ".");
}

absl::StatusOr<std::string> DrawTemporaryName(absl::string_view name) {
  uint64_t number;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number))
    return FileError(errno, "the system has no random numbers");
  return absl::StrCat(TemporaryPrefix(name), absl::Hex(number, absl::kZeroPad16), kExtension);
}

bool IsTemporaryName(absl::string_view candidate, absl::string_view prefix) {
  return absl::ConsumePrefix(&candidate, prefix) && absl::ConsumeSuffix(&candidate, kExtension) &&
         candidate.size() == kDigits && std::all_of(candidate.begin(), candidate.end(), [](char c) {
           return absl::ascii_isxdigit(c) && !absl::ascii_isupper(c);
         });
}

//===----------------------------------------------------------------------===//
// Temporary files of killed writers
//
// The next writer of the same file removes them. A file without a name
// (O_TMPFILE) would end with its writer, but it cannot replace a file: linkat
// fails if the name exists. NFS, for example, has no such files.
//===----------------------------------------------------------------------===//

bool IsAbandoned(const FileDescriptor &file, const struct stat &info) {
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0)
    return true;
  return errno != EWOULDBLOCK && time(nullptr) - info.st_mtime > kSecondsUntilDead;
}

void RemoveIfAbandoned(const Target &target, const char *name) {
  FileDescriptor file(openat(target.folder.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info, named;
  if (!file.is_open() || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      !IsAbandoned(file, info))
    return;
  // The writer may have renamed it before it released the lock.
  if (fstatat(target.folder.get(), name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_dev == info.st_dev &&
      named.st_ino == info.st_ino)
    unlinkat(target.folder.get(), name, 0);
}

void RemoveAbandoned(const Target &target) {
  int listed = openat(target.folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::unique_ptr<DIR, int (*)(DIR *)> folder(listed < 0 ? nullptr : fdopendir(listed), closedir);
  if (!folder) {
    if (listed >= 0)
      close(listed);
    return;
  }
  std::string prefix = TemporaryPrefix(target.name);
  while (const dirent *entry = readdir(folder.get()))
    if (IsTemporaryName(entry->d_name, prefix))
      RemoveIfAbandoned(target, entry->d_name);
}

//===----------------------------------------------------------------------===//
// The temporary file
//===----------------------------------------------------------------------===//

/// Returns the permissions of the existing file, or nullopt if there is none.
absl::StatusOr<absl::optional<mode_t>> FindPermissions(const Target &target) {
  struct stat info;
  if (fstatat(target.folder.get(), target.name.c_str(), &info, 0) != 0) {
    if (errno == ENOENT)
      return absl::nullopt;
    return FileError(errno, "it cannot be examined");
  }
  // Renaming would replace a pipe or a device with a file.
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError("it exists and is not a regular file");
  return info.st_mode & kPermissions;
}

struct LockedFile {
  FileDescriptor file;
  std::string name;
};

absl::StatusOr<LockedFile> CreateTemporary(const Target &target, absl::optional<mode_t> permissions) {
  constexpr int kMostAttempts = 100;
  for (int attempt = 0; attempt != kMostAttempts; ++attempt) {
    CS336_ASSIGN_OR_RETURN(std::string name, DrawTemporaryName(target.name));
    FileDescriptor file(openat(target.folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                               permissions.value_or(0666)));
    if (!file.is_open() && errno == EEXIST)
      continue;
    if (!file.is_open())
      return FileError(errno, "a file beside it cannot be created");
    // Until it is locked, another writer may treat it as abandoned and remove
    // it.
    struct stat info;
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      continue;
    if (fstat(file.get(), &info) != 0) {
      int error = errno;
      unlinkat(target.folder.get(), name.c_str(), 0);
      return FileError(error, "a file beside it cannot be examined");
    }
    if (info.st_nlink == 0)
      continue;
    if (permissions)
      fchmod(file.get(), *permissions); // The umask does not apply to an existing file.
    return LockedFile{std::move(file), std::move(name)};
  }
  return absl::UnavailableError("a file beside it cannot be created: other processes remove each one");
}

/// Returns errors of writing that the system reports late.
absl::Status Flush(const FileDescriptor &file, bool durable) {
  // Network file systems may report errors when a file is closed. Closing a duplicate keeps the lock.
  int result = durable ? fsync(file.get()) : close(dup(file.get()));
  return result == 0 ? absl::OkStatus() : FileError(errno, "cannot write");
}

absl::Status SyncFolder(const FileDescriptor &folder) {
  // The folder is not open for listing, or its file system does not support this.
  if (fsync(folder.get()) == 0 || errno == EBADF || errno == EINVAL)
    return absl::OkStatus();
  return FileError(errno, "it was replaced, but might not survive a loss of power");
}

} // namespace

absl::Status WriteBytes(int descriptor, absl::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return FileError(errno, "cannot write");
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status ReplaceFile(absl::string_view path, absl::FunctionRef<absl::Status(const TemporaryFile &)> write,
                         ReplaceFileOptions options) {
  CS336_ASSIGN_OR_RETURN(Target target, OpenTarget(path));
  CS336_ASSIGN_OR_RETURN(absl::optional<mode_t> permissions, FindPermissions(target));
  RemoveAbandoned(target);
  CS336_ASSIGN_OR_RETURN(LockedFile temporary, CreateTemporary(target, permissions));
  int folder = target.folder.get();
  absl::Cleanup remove = [&] { unlinkat(folder, temporary.name.c_str(), 0); };
  CS336_RETURN_IF_ERROR(write({temporary.file.get(), absl::StrCat(target.folder_path, temporary.name)}));
  CS336_RETURN_IF_ERROR(Flush(temporary.file, options.durable));
  if (renameat(folder, temporary.name.c_str(), folder, target.name.c_str()) != 0)
    return FileError(errno, "cannot replace it");
  std::move(remove).Cancel();
  return options.durable ? SyncFolder(target.folder) : absl::OkStatus();
}

absl::Status ReplaceFile(absl::string_view path, absl::Span<const absl::string_view> pieces,
                         ReplaceFileOptions options) {
  auto write = [&](const TemporaryFile &file) {
    for (absl::string_view piece : pieces)
      CS336_RETURN_IF_ERROR(WriteBytes(file.descriptor, piece));
    return absl::OkStatus();
  };
  return ReplaceFile(path, write, options);
}

} // namespace cs336::runtime
