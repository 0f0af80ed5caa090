//===- ExecutableCache.h - Executables kept on disk -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DRIVER_COMPILE_EXECUTABLECACHE_H
#define CS336_LIB_DRIVER_COMPILE_EXECUTABLECACHE_H

#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Support/FileCache.h"

namespace cs336 {

/// A cache of executables. The key is everything that they are compiled from: the IR, the options, and the compiler
/// itself.
class ExecutableCache {
public:
  /// Stores entries in `folder`/executables, which the first store creates.
  explicit ExecutableCache(llvm::StringRef folder);

  /// Returns the name of the entry for the module's executable. Returns nullopt without a cache, if the compilation has
  /// other outputs (dumped files, times, statistics, remarks), or if the version of the compiler or of NVRTC cannot be
  /// identified.
  static std::optional<std::string> getKey(mlir::ModuleOp module, const CompileOptions &options);

  std::optional<std::vector<uint8_t>> find(llvm::StringRef key) const;
  /// See FileCache; keeps the folder within its bound.
  llvm::Error store(llvm::StringRef key, llvm::ArrayRef<uint8_t> executable) const;

private:
  FileCache files;
};

} // namespace cs336

#endif // CS336_LIB_DRIVER_COMPILE_EXECUTABLECACHE_H
