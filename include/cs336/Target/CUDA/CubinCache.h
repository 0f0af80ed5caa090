//===- CubinCache.h - Compiled kernels kept on disk -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_CUBINCACHE_H
#define CS336_TARGET_CUDA_CUBINCACHE_H

#include "cs336/Target/CUDA/NVRTC.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cs336 {

/// Machine code by the content of what it was compiled from: one file an entry, named by its key. Processes may share a
/// folder: an entry appears whole or not at all, and one that was damaged counts as absent. A lookup or a store never
/// makes compiling fail.
class CubinCache {
public:
  /// What the folder may grow to before the entries that were unused for longest are removed.
  static constexpr uint64_t kDefaultMaxBytes = uint64_t(1) << 30;

  /// The entries are in `folder`/cubins, which the first store makes.
  explicit CubinCache(llvm::StringRef folder, uint64_t maxBytes = kDefaultMaxBytes);

  llvm::StringRef getFolder() const { return folder; }

  /// The name of the entry for what `compiler` makes of `text`, in which lines that are comments do not count.
  static std::string getKey(const NVRTC &compiler, llvm::StringRef text, llvm::StringRef architecture);

  std::optional<Cubin> find(llvm::StringRef key) const;

  /// Writes the entry, in place of one of the same key. Fails where it cannot be written; nothing is left behind then.
  llvm::Error store(llvm::StringRef key, const Cubin &cubin) const;

  /// Removes what was not used for a month, and what is above the bound; at most once in 20 minutes by all processes.
  void prune() const;

private:
  std::string getPath(llvm::StringRef key) const;

  std::string folder;
  uint64_t maxBytes;
};

} // namespace cs336

#endif // CS336_TARGET_CUDA_CUBINCACHE_H
