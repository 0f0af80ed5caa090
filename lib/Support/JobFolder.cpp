//===- JobFolder.cpp - The temporary folder of a job ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/JobFolder.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cs336;
namespace fs = llvm::sys::fs;

static constexpr llvm::StringLiteral kName = "cs336-job";

static int openFolder(llvm::StringRef path) {
  return open(path.str().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void removeAbandoned() {
  llvm::SmallString<128> parent;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, parent);
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    if (!llvm::sys::path::filename(entry->path()).starts_with(kName))
      continue;
    int folder = openFolder(entry->path());
    struct stat info;
    if (folder >= 0 && fstat(folder, &info) == 0 && info.st_uid == geteuid() && flock(folder, LOCK_EX | LOCK_NB) == 0)
      (void)fs::remove_directories(entry->path());
    close(folder);
  }
}

absl::StatusOr<std::unique_ptr<JobFolder>> JobFolder::create() {
  removeAbandoned();
  constexpr int kMostAttempts = 100;
  for (int attempt = 0; attempt != kMostAttempts; ++attempt) {
    llvm::SmallString<128> path;
    if (std::error_code error = fs::createUniqueDirectory(kName, path))
      return absl::UnavailableError(absl::StrCat("a temporary folder cannot be made: ", error.message()));
    std::unique_ptr<JobFolder> created(new JobFolder(path.str().str(), openFolder(path)));
    // Until it is locked, another process may treat it as abandoned and remove it. A file system without locks has no
    // abandoned folders.
    bool isTaken = flock(created->folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!isTaken && fs::is_directory(path))
      return created;
  }
  return absl::UnavailableError("a temporary folder cannot be made: other processes remove each one");
}

JobFolder::~JobFolder() {
  // Files that remain in the temporary folder do no harm.
  (void)fs::remove_directories(path);
  close(folder);
}
