//===- PassDump.h - The IR after every pass, in files -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DRIVER_COMPILE_PASSDUMP_H
#define CS336_LIB_DRIVER_COMPILE_PASSDUMP_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <mutex>
#include <string>

namespace mlir {
class PassManager;
} // namespace mlir

namespace cs336 {

/// Writes the IR after every pass to a tree of numbered files. MLIR's own printer of such a tree ends the process if a
/// disk is full.
class PassDump {
public:
  /// The folder is created when the first file is written.
  explicit PassDump(llvm::StringRef folder) : folder(folder) {}

  /// Makes the pass manager write the IR after every pass. This object must outlive its runs.
  void enable(mlir::PassManager &manager);

  /// Writes one file, unless a file before could not be written. Threads of the pass manager may call this at once.
  void write(llvm::StringRef pass, mlir::Operation *op, llvm::function_ref<void(llvm::raw_ostream &)> print);

  /// Returns the first error, which names the file; empty if there was none.
  llvm::StringRef getError() const { return error; }

private:
  std::string getPath(llvm::StringRef pass, mlir::Operation *op);

  std::string folder;
  std::mutex mutex;
  /// The number of the last file of each operation. Guarded by mutex.
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  /// Guarded by mutex while passes run.
  std::string error;
};

} // namespace cs336

#endif // CS336_LIB_DRIVER_COMPILE_PASSDUMP_H
