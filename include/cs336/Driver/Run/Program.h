//===- Program.h - What a tool was asked to run -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUN_PROGRAM_H
#define CS336_DRIVER_RUN_PROGRAM_H

#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/runtime/Executable.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace cs336 {

struct LoadedProgram {
  std::shared_ptr<const runtime::Executable> executable;
  /// Whether it was IR: the options have no part in what was compiled before.
  bool wasCompiled;
};

/// The program in a file: an executable, or IR in any phase (text or bytecode), which is compiled. The compiler's
/// diagnostics go to the standard error stream; the status then says only that compiling failed.
absl::StatusOr<LoadedProgram> loadProgram(llvm::StringRef path, const CompileOptions &options);

/// Of IR in memory, as `loadProgram` compiles it; `name` stands for its path in messages.
absl::StatusOr<std::shared_ptr<const runtime::Executable>>
compileProgram(std::unique_ptr<llvm::MemoryBuffer> text, llvm::StringRef name, const CompileOptions &options);

/// The entry called `name`; without a name the only one, or the first of train, forward_backward, loss and forward
/// that there is. The error lists the entries.
absl::StatusOr<const format::EntryT *> findEntry(const runtime::Executable &executable, llvm::StringRef name);

} // namespace cs336

#endif // CS336_DRIVER_RUN_PROGRAM_H
