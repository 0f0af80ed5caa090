//===- OutputPaths.h - Output files of a tool -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_COMPILE_OUTPUTPATHS_H
#define CS336_DRIVER_COMPILE_OUTPUTPATHS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/status.h"

namespace cs336 {

/// A flag and the file that it names. An empty path names no file, and "-" names standard output.
struct OutputPath {
  llvm::StringRef flag;
  llvm::StringRef path;
};

/// Returns INVALID_ARGUMENT if two flags name the same file, by the same path, by two spellings of it, or by links: one
/// output would be lost. Several flags may write to standard output, to a device or to a pipe.
absl::Status checkDistinct(llvm::ArrayRef<OutputPath> outputs);

/// Returns INVALID_ARGUMENT if an output names a file that is also an input: the input would be lost.
absl::Status checkKept(llvm::ArrayRef<OutputPath> inputs, llvm::ArrayRef<OutputPath> outputs);

/// Returns INVALID_ARGUMENT if an output names a file that `--dump-dir` writes to `folder`. If `folder` is empty, it
/// writes none.
absl::Status checkOutsideDump(llvm::ArrayRef<OutputPath> outputs, llvm::StringRef folder);

} // namespace cs336

#endif // CS336_DRIVER_COMPILE_OUTPUTPATHS_H
