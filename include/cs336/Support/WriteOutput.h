//===- WriteOutput.h - Writing output files atomically ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_WRITEOUTPUT_H
#define CS336_SUPPORT_WRITEOUTPUT_H

#include "cs336/runtime/ReplaceFile.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace cs336 {

/// Writes the output of `print` to `path`, as `runtime::ReplaceFile` does; "-" is standard output. On an error of
/// `print` or of the system (such as a full disk), an existing file is unchanged. LLVM's own `writeToOutput` ends the
/// process if a disk is full, and does not flush to disk.
llvm::Error writeOutput(llvm::StringRef path, llvm::function_ref<llvm::Error(llvm::raw_ostream &)> print,
                        runtime::ReplaceFileOptions options = {});

/// Writes a file of a dump, and the folders above it if they are missing. A crash of the system may lose the file.
llvm::Error writeDump(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> print);

} // namespace cs336

#endif // CS336_SUPPORT_WRITEOUTPUT_H
