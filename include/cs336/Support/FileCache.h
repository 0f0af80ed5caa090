//===- FileCache.h - Results kept on disk by what they come from *- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_FILECACHE_H
#define CS336_SUPPORT_FILECACHE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SHA256.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cs336 {

/// A hash of everything that a result depends on, part by part. Each part counts with its length, so that parts cannot
/// run into each other.
class CacheKey {
public:
  void add(llvm::StringRef part);
  std::string finish();

private:
  llvm::SHA256 hash;
};

/// Bytes by a key that says what they come from: one file per entry, named by its key and with the key in it. Processes
/// may share a folder: an entry appears whole or not at all. One that was damaged, or stands under the name of another,
/// counts as absent, as do all in a folder that other users may write to. A lookup never fails.
class FileCache {
public:
  /// What the folder may grow to before the entries that were unused for longest are removed.
  static constexpr uint64_t kDefaultMaxBytes = uint64_t(1) << 30;

  /// `folder` is made by the first store, for this user alone. `magic` starts every entry, and names the kind and
  /// version of what it holds.
  FileCache(llvm::StringRef folder, llvm::StringRef magic, uint64_t maxBytes = kDefaultMaxBytes)
      : folder(folder.str()), magic(magic.str()), maxBytes(maxBytes) {}

  llvm::StringRef getFolder() const { return folder; }

  std::optional<std::string> find(llvm::StringRef key) const;

  /// Writes the entry, in place of one of the same key. Fails where it cannot be written; nothing is left behind then.
  llvm::Error store(llvm::StringRef key, llvm::StringRef bytes) const;

  /// Removes what was not used for a month, and what is above the bound; at most once in 20 minutes by all processes.
  void prune() const;

private:
  /// The first line of an entry.
  std::string getHeader(llvm::StringRef key, llvm::StringRef bytes) const;

  std::string folder, magic;
  uint64_t maxBytes;
};

} // namespace cs336

#endif // CS336_SUPPORT_FILECACHE_H
