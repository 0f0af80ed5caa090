//===- CubinCache.cpp - Compiled kernels kept on disk ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry is a line for the cubin, a line for each kernel, and the image:
//
//   sm_90a 1
//   softmax_3f2a 32 0
//   <bytes of an ELF file>
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/NVRTC/CubinCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace cs336;

static constexpr llvm::StringLiteral kMagic = "cs336-cubin 3";

static std::string getFolderOfCubins(llvm::StringRef folder) {
  llvm::SmallString<128> cubins(folder);
  llvm::sys::path::append(cubins, "cubins");
  return cubins.str().str();
}

CubinCache::CubinCache(llvm::StringRef folder, uint64_t maxBytes)
    : files(getFolderOfCubins(folder), kMagic, maxBytes) {}

std::string CubinCache::getKey(const NVRTC &compiler, llvm::StringRef text, llvm::StringRef architecture) {
  CacheKey key;
  key.add(kMagic);
  key.add(compiler.getIdentity());
  for (const std::string &option : NVRTC::getOptions(architecture))
    key.add(option);
  // Removes comments: they contain locations, in which programs with equal kernels may differ.
  for (llvm::StringRef line : llvm::split(text, '\n'))
    if (!line.starts_with("//"))
      key.add(line);
  return key.finish();
}

static std::string serialize(const Cubin &cubin) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  stream << cubin.architecture << " " << cubin.kernels.size() << "\n";
  for (const Cubin::Kernel &kernel : cubin.kernels)
    stream << kernel.name << " " << kernel.registers << " " << kernel.spilledBytes << "\n";
  stream.write(cubin.image.data(), cubin.image.size());
  return bytes;
}

/// Removes a line from the front of `bytes` and splits it at spaces.
static llvm::SmallVector<llvm::StringRef, 3> takeLine(llvm::StringRef &bytes) {
  auto [line, rest] = bytes.split('\n');
  bytes = rest;
  llvm::SmallVector<llvm::StringRef, 3> words;
  line.split(words, ' ');
  return words;
}

static std::optional<Cubin> deserialize(llvm::StringRef bytes) {
  // The checksum proves only that the bytes are complete; their contents are still checked.
  Cubin cubin;
  size_t numKernels = 0;
  llvm::SmallVector<llvm::StringRef, 3> words = takeLine(bytes);
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

std::optional<Cubin> CubinCache::find(llvm::StringRef key) const {
  std::optional<std::string> bytes = files.find(key);
  return bytes ? deserialize(*bytes) : std::nullopt;
}

llvm::Error CubinCache::store(llvm::StringRef key, const Cubin &cubin) const {
  return files.store(key, serialize(cubin));
}
