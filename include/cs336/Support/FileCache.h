//===- FileCache.h - Results on disk by a hash of their inputs ------------===//
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

/// Hashes everything that a result depends on, part by part. The length of each part is hashed too, so that two parts
/// cannot be confused with one.
class CacheKey {
public:
  void add(llvm::StringRef part);
  std::string finish();

private:
  llvm::SHA256 hash;
};

/// A cache of bytes by key: one file per entry, whose name and first line contain the key. Processes may share a
/// folder: an entry is either complete or absent. Damaged entries, entries under the name of another key, and folders
/// that other users may write to count as absent. A lookup never fails.
class FileCache {
public:
  /// When the folder exceeds this size, the least recently used entries are removed.
  static constexpr uint64_t kDefaultMaxBytes = uint64_t(1) << 30;

  /// The first store creates `folder`, for this user alone. Every entry starts with `magic`, which names the kind and
  /// version of its content.
  FileCache(llvm::StringRef folder, llvm::StringRef magic, uint64_t maxBytes = kDefaultMaxBytes)
      : folder(folder.str()), magic(magic.str()), maxBytes(maxBytes) {}

  llvm::StringRef getFolder() const { return folder; }

  std::optional<std::string> find(llvm::StringRef key) const;

  /// Writes the entry, or replaces the entry with the same key. On an error, no partial file is left.
  llvm::Error store(llvm::StringRef key, llvm::StringRef bytes) const;

  /// Removes entries that were not used for a month, and entries beyond the size limit. All processes together do so at
  /// most once in 20 minutes.
  void prune() const;

private:
  /// Returns the first line of an entry.
  std::string getHeader(llvm::StringRef key, llvm::StringRef bytes) const;

  std::string folder, magic;
  uint64_t maxBytes;
};

} // namespace cs336

#endif // CS336_SUPPORT_FILECACHE_H
