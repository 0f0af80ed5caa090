//===- FileCache.cpp - Results kept on disk by what they come from --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry is a line with the magic word, the key, and a checksum of the bytes, and then the bytes:
//
//   cs336-cubin 3 0a1b2c3d… 9f86d081884c7d65
//   <bytes>
//
// llvm::localCache is not used, because it ends the process if a disk is full and cannot replace a damaged entry.
// LLVM's cache pruning is used, so names of entries have the prefix that it expects.
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/FileCache.h"

#include "cs336/runtime/CacheFolder.h"
#include "cs336/runtime/ReplaceFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <unistd.h>

using namespace cs336;
namespace fs = llvm::sys::fs;

static constexpr llvm::StringLiteral kPrefix = "llvmcache-";

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

void CacheKey::add(llvm::StringRef part) {
  char size[8];
  llvm::support::endian::write64le(size, part.size());
  hash.update(llvm::StringRef(size, sizeof(size)));
  hash.update(part);
}

std::string CacheKey::finish() { return llvm::toHex(hash.final(), /*LowerCase=*/true); }

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static std::string getFileName(llvm::StringRef key) { return (kPrefix + key).str(); }

std::string FileCache::getHeader(llvm::StringRef key, llvm::StringRef bytes) const {
  std::string checksum = llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true, /*Width=*/16);
  return magic + " " + key.str() + " " + checksum;
}

std::optional<std::string> FileCache::find(llvm::StringRef key) const {
  absl::StatusOr<std::string> entry = runtime::ReadCacheFile(folder, getFileName(key), static_cast<int64_t>(maxBytes));
  if (!entry.ok())
    return std::nullopt;
  auto [header, bytes] = llvm::StringRef(*entry).split('\n');
  if (header != getHeader(key, bytes))
    return std::nullopt;
  return bytes.str();
}

llvm::Error FileCache::store(llvm::StringRef key, llvm::StringRef bytes) const {
  std::string path = folder + "/" + getFileName(key), header = getHeader(key, bytes) + "\n";
  absl::string_view contents[] = {header, {bytes.data(), bytes.size()}};
  absl::Status status = runtime::MakeCacheFolder(folder);
  status.Update(runtime::CheckCacheFolder(folder));
  // A killed process leaves its temporary file. The file's name starts like the entry's, so pruning removes it. A
  // lookup detects entries that a loss of power damaged.
  if (status.ok())
    status = runtime::ReplaceFile(path, contents, {.durable = false});
  if (status.ok())
    return llvm::Error::success();
  return llvm::createStringError("cannot write to '" + folder + "': " + std::string(status.message()));
}

/// Removes anything but a regular file at the path of the file with the time of the last pruning: opening a pipe would
/// block.
static void removeStrayTimestamp(llvm::StringRef folder) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "llvmcache.timestamp");
  fs::file_status status;
  if (!fs::status(path, status, /*follow=*/false) && status.type() != fs::file_type::regular_file)
    unlink(path.c_str()); // fs::remove leaves pipes and devices.
}

void FileCache::prune() const {
  removeStrayTimestamp(folder);
  llvm::CachePruningPolicy policy;
  policy.Expiration = std::chrono::hours(31 * 24);
  policy.MaxSizeBytes = maxBytes;
  llvm::pruneCache(folder, policy);
}
