//===- CubinCache.cpp - Compiled kernels kept on disk ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry is a header line with a checksum of the rest, a line for the cubin, a line for each kernel, and the image:
//
//   cs336-cubin 1 9f86d081884c7d65
//   sm_90a 1
//   softmax_3f2a 32 0
//   <bytes of an ELF file>
//
// llvm::localCache is not used since it ends the process where a disk is full, and has no way to replace an entry that
// was damaged. Its pruning is used, which is why names of entries start as it expects.
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/CubinCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace cs336;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static constexpr llvm::StringLiteral kMagic = "cs336-cubin 1 ";
static constexpr llvm::StringLiteral kPrefix = "llvmcache-";

CubinCache::CubinCache(llvm::StringRef folder, uint64_t maxBytes) : maxBytes(maxBytes) {
  llvm::SmallString<128> cubins(folder);
  path::append(cubins, "cubins");
  this->folder = cubins.str().str();
}

std::string CubinCache::getPath(llvm::StringRef key) const {
  llvm::SmallString<128> file(folder);
  path::append(file, kPrefix + key);
  return file.str().str();
}

std::string CubinCache::getKey(const NVRTC &compiler, llvm::StringRef text, llvm::StringRef architecture) {
  llvm::SHA256 hash;
  // No part holds a zero, so that parts cannot run into each other.
  auto add = [&](llvm::StringRef part) {
    hash.update(part);
    hash.update(llvm::StringRef("\0", 1));
  };
  add(kMagic);
  add(compiler.getVersion());
  for (const std::string &option : NVRTC::getOptions(architecture))
    add(option);
  // Comments say where a kernel is used, which another program may do elsewhere.
  for (llvm::StringRef line : llvm::split(text, '\n'))
    if (!line.starts_with("//"))
      add(line);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// What the checksum is of.
static std::string serialize(const Cubin &cubin) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  stream << cubin.architecture << " " << cubin.kernels.size() << "\n";
  for (const Cubin::Kernel &kernel : cubin.kernels)
    stream << kernel.name << " " << kernel.registers << " " << kernel.spilledBytes << "\n";
  stream.write(cubin.image.data(), cubin.image.size());
  return bytes;
}

static std::string getChecksum(llvm::StringRef bytes) {
  return llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true, /*Width=*/16);
}

/// Takes a line off the front of `bytes`, split at its spaces.
static llvm::SmallVector<llvm::StringRef, 3> takeLine(llvm::StringRef &bytes) {
  auto [line, rest] = bytes.split('\n');
  bytes = rest;
  llvm::SmallVector<llvm::StringRef, 3> words;
  line.split(words, ' ');
  return words;
}

static std::optional<Cubin> deserialize(llvm::StringRef bytes) {
  if (!bytes.consume_front(kMagic))
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef, 3> words = takeLine(bytes);
  if (words.size() != 1 || words[0] != getChecksum(bytes))
    return std::nullopt;
  // From here on the bytes are what some process wrote; what they say is still not trusted.
  Cubin cubin;
  size_t numKernels = 0;
  words = takeLine(bytes);
  if (words.size() != 2 || words[1].getAsInteger(10, numKernels))
    return std::nullopt;
  cubin.architecture = words[0].str();
  for (size_t i = 0; i < numKernels; ++i) {
    Cubin::Kernel kernel;
    words = takeLine(bytes);
    if (words.size() != 3 || words[1].getAsInteger(10, kernel.registers) ||
        words[2].getAsInteger(10, kernel.spilledBytes))
      return std::nullopt;
    kernel.name = words[0].str();
    cubin.kernels.push_back(std::move(kernel));
  }
  cubin.image.assign(bytes.begin(), bytes.end());
  return cubin;
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

std::optional<Cubin> CubinCache::find(llvm::StringRef key) const {
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
  return buffer ? deserialize((*buffer)->getBuffer()) : std::nullopt;
}

llvm::Error CubinCache::store(llvm::StringRef key, const Cubin &cubin) const {
  auto fail = [&](llvm::Error error) {
    return llvm::createStringError("cannot write to '" + folder + "': " + llvm::toString(std::move(error)));
  };
  if (std::error_code error = fs::create_directories(folder))
    return fail(llvm::errorCodeToError(error));
  // A killed process leaves its file; with the prefix, pruning finds it.
  llvm::Expected<fs::TempFile> file = fs::TempFile::create(getPath("%%%%%%%%.tmp"));
  if (!file)
    return fail(file.takeError());
  std::string bytes = serialize(cubin);
  llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << kMagic << getChecksum(bytes) << "\n" << bytes;
  stream.flush();
  if (std::error_code error = stream.error()) {
    stream.clear_error();
    llvm::consumeError(file->discard());
    return fail(llvm::errorCodeToError(error));
  }
  if (llvm::Error error = file->keep(getPath(key))) {
    llvm::consumeError(file->discard());
    return fail(std::move(error));
  }
  return llvm::Error::success();
}

void CubinCache::prune() const {
  llvm::CachePruningPolicy policy;
  policy.Expiration = std::chrono::hours(31 * 24);
  policy.MaxSizeBytes = maxBytes;
  llvm::pruneCache(folder, policy);
}
