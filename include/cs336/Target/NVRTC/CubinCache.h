//===- CubinCache.h - Compiled kernels kept on disk -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_NVRTC_CUBINCACHE_H
#define CS336_TARGET_NVRTC_CUBINCACHE_H

#include "cs336/Support/FileCache.h"
#include "cs336/Target/NVRTC/NVRTC.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cs336 {

/// A cache of machine code by a hash of its source. Errors of the cache never make a compilation fail.
class CubinCache {
public:
  /// The entries are in `folder`/cubins, which the first store creates.
  explicit CubinCache(llvm::StringRef folder, uint64_t maxBytes = FileCache::kDefaultMaxBytes);

  llvm::StringRef getFolder() const { return files.getFolder(); }

  /// Returns the key of the machine code that `compiler` generates for `text`. The key does not depend on lines that
  /// are comments.
  static std::string getKey(const NVRTC &compiler, llvm::StringRef text, llvm::StringRef architecture);

  std::optional<Cubin> find(llvm::StringRef key) const;
  /// See FileCache.
  llvm::Error store(llvm::StringRef key, const Cubin &cubin) const;
  void prune() const { files.prune(); }

private:
  FileCache files;
};

} // namespace cs336

#endif // CS336_TARGET_NVRTC_CUBINCACHE_H
