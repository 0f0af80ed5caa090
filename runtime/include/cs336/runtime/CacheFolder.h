//===- CacheFolder.h - The folder of cached results -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the compiler and the runtime, in cs336_file. The process runs code
// from the cache, so only its user may be able to write to it.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_CACHEFOLDER_H
#define CS336_RUNTIME_CACHEFOLDER_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace cs336::runtime {

/// Returns $CS336_CACHE_DIR, else $XDG_CACHE_HOME/cs336-opt, else
/// ~/.cache/cs336-opt; empty if there is no home folder either. The folder may
/// not exist yet.
std::string CacheFolder();

/// Checks that only this user and root could have written the cache in
/// `folder`. Returns PERMISSION_DENIED, with what to do about it, if the folder
/// or a folder of entries in it belongs to another user or is writable by all.
/// A folder that does not exist yet is not an error.
absl::Status CheckCacheFolder(const std::string &folder);

/// Creates a folder and its parents, accessible to this user only. Does nothing
/// if the folder exists.
absl::Status MakeCacheFolder(const std::string &folder);

/// Returns the contents of the file `name` in `folder`, and marks it as used
/// now. Returns an error, and never waits, if the file or the folder belongs to
/// another user, if the folder is writable by all, or if the name does not refer
/// to a regular file of at most `most_bytes`, but to a link, a pipe or a device.
absl::StatusOr<std::string> ReadCacheFile(const std::string &folder, const std::string &name, int64_t most_bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_CACHEFOLDER_H
