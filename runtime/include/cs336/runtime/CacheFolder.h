//===- CacheFolder.h - Where results are kept between runs ------*- C++ -*-===//
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

/// $CS336_CACHE_DIR, else $XDG_CACHE_HOME/cs336-opt, else ~/.cache/cs336-opt;
/// empty if there is no home either. It may not exist yet.
std::string CacheFolder();

/// PERMISSION_DENIED, with what to do about it, if users other than this one
/// and root could have written what the cache in `folder` holds: if the folder,
/// or one of those in it that hold entries, is another user's or may be written
/// by all. What does not exist yet is no error.
absl::Status CheckCacheFolder(const std::string &folder);

/// Makes a folder, and those that it is in, for this user alone, unless it is
/// there.
absl::Status MakeCacheFolder(const std::string &folder);

/// Returns the contents of the file `name` in `folder`, and marks it as used
/// now. Returns an error, and never waits, if either is another user's, the
/// folder may be written by all, or the name stands for something other than a
/// regular file of at most `most_bytes`: a link, a pipe, a device.
absl::StatusOr<std::string> ReadCacheFile(const std::string &folder, const std::string &name, int64_t most_bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_CACHEFOLDER_H
