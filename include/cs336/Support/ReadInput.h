//===- ReadInput.h - Reading input files ------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_READINPUT_H
#define CS336_SUPPORT_READINPUT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace cs336 {

/// Reads all of a file into memory; "-" is standard input. Other processes may write to the file afterwards, which a
/// mapped file would show. Returns an error that names the path if it is a folder, a device or a named pipe, which may
/// have no end or no writer; if the file changes while it is read; or if standard input has more than 256 MiB. A pipe
/// that a shell makes (`<(command)`) is read like standard input.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readInput(llvm::StringRef path);

} // namespace cs336

#endif // CS336_SUPPORT_READINPUT_H
