//===- OutputFolder.h - Folders of files to write ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_OUTPUTFOLDER_H
#define CS336_DRIVER_FLAGS_OUTPUTFOLDER_H

#include "llvm/ADT/StringRef.h"

#include "absl/status/status.h"

namespace cs336 {

/// Returns NOT_FOUND with the flag's name unless the folder of the file that `flag` names exists. Called before work
/// whose results would be lost.
absl::Status checkOutputFolder(llvm::StringRef flag, llvm::StringRef file);

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_OUTPUTFOLDER_H
