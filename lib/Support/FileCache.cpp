//===- FileCache.cpp - Results kept on disk by what they come from --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry is a line with the magic word and a checksum of the rest, and the bytes:
//
//   cs336-cubin 2 9f86d081884c7d65
//   <bytes>
//
// llvm::localCache is not used since it ends the process where a disk is full, and has no way to replace an entry that
// was damaged. Its pruning is used, which is why names of entries start as it expects.
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/FileCache.h"

#include "cs336/Support/WriteOutput.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

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

std::string FileCache::getPath(llvm::StringRef key) const {
  llvm::SmallString<128> file(folder);
  llvm::sys::path::append(file, kPrefix + key);
  return file.str().str();
}

static std::string getChecksum(llvm::StringRef bytes) {
  return llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true, /*Width=*/16);
}

std::optional<std::string> FileCache::find(llvm::StringRef key) const {
  // Reading must count as a use, which pruning goes by, also where the file system does not keep track.
  llvm::Expected<fs::file_t> file = fs::openNativeFileForRead(getPath(key), fs::OF_UpdateAtime);
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  // Volatile: a mapped file that another process cuts short would end this one.
  auto buffer = llvm::MemoryBuffer::getOpenFile(*file, key, /*FileSize=*/-1, /*RequiresNullTerminator=*/false,
                                                /*IsVolatile=*/true);
  fs::closeFile(*file);
  if (!buffer)
    return std::nullopt;
  auto [header, bytes] = (*buffer)->getBuffer().split('\n');
  if (!header.consume_front(magic) || !header.consume_front(" ") || header != getChecksum(bytes))
    return std::nullopt;
  return bytes.str();
}

llvm::Error FileCache::store(llvm::StringRef key, llvm::StringRef bytes) const {
  auto fail = [&](llvm::Error error) {
    return llvm::createStringError("cannot write to '" + folder + "': " + llvm::toString(std::move(error)));
  };
  if (std::error_code error = fs::create_directories(folder))
    return fail(llvm::errorCodeToError(error));
  // A killed process leaves its file, which begins as the entry's name does: pruning finds it.
  llvm::Error error = writeOutput(getPath(key), [&](llvm::raw_ostream &stream) {
    stream << magic << " " << getChecksum(bytes) << "\n" << bytes;
    return llvm::Error::success();
  });
  return error ? fail(std::move(error)) : llvm::Error::success();
}

void FileCache::prune() const {
  llvm::CachePruningPolicy policy;
  policy.Expiration = std::chrono::hours(31 * 24);
  policy.MaxSizeBytes = maxBytes;
  llvm::pruneCache(folder, policy);
}
