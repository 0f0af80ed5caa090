//===- OutputFile.h - Files that will be written ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_OUTPUTFILE_H
#define CS336_DRIVER_FLAGS_OUTPUTFILE_H

#include "llvm/ADT/StringRef.h"

#include "absl/status/status.h"

namespace cs336 {

/// Returns an error with the flag's name if the file that `flag` names cannot be written: if it is a folder, or if its
/// folder does not exist or is read-only. An empty name, and "-" for standard output, are accepted. Called before work
/// whose results would be lost.
absl::Status checkOutputFile(llvm::StringRef flag, llvm::StringRef file);

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_OUTPUTFILE_H
