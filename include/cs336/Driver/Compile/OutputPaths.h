//===- OutputPaths.h - Files that a tool is asked to write ------*- C++ -*-===//
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

/// INVALID_ARGUMENT if two flags name one file, of which one would be lost: by the same path, by two spellings of it,
/// or by links. Standard output, devices and pipes hold what several flags write.
absl::Status checkDistinct(llvm::ArrayRef<OutputPath> outputs);

/// INVALID_ARGUMENT if an output names a file that `--dump-dir` `folder` writes. An empty folder holds none.
absl::Status checkOutsideDump(llvm::ArrayRef<OutputPath> outputs, llvm::StringRef folder);

} // namespace cs336

#endif // CS336_DRIVER_COMPILE_OUTPUTPATHS_H
