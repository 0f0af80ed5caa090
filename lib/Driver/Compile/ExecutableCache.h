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

/// Executables by everything that they are compiled from: the IR, the options, and the compiler itself.
class ExecutableCache {
public:
  /// The entries are in `folder`/executables, which the first store makes.
  explicit ExecutableCache(llvm::StringRef folder);

  /// The name of the entry for what `compileModule` makes of the module. Nothing where there is no cache, where more is
  /// asked of the compilation than the executable (dumped files, times, statistics, remarks), and where the compiler or
  /// NVRTC cannot be told from others.
  static std::optional<std::string> getKey(mlir::ModuleOp module, const CompileOptions &options);

  std::optional<std::vector<uint8_t>> find(llvm::StringRef key) const;
  /// See FileCache; keeps the folder within its bound.
  llvm::Error store(llvm::StringRef key, llvm::ArrayRef<uint8_t> executable) const;

private:
  FileCache files;
};

} // namespace cs336

#endif // CS336_LIB_DRIVER_COMPILE_EXECUTABLECACHE_H
