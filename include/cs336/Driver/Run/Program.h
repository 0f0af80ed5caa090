//===- Program.h - The program that a tool runs -----------------*- C++ -*-===//
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
  /// True if the program was IR. Compile options have no effect on executables.
  bool wasCompiled;
};

/// Loads the program in a file: an executable, or IR in any phase (text or bytecode), which is compiled. The compiler's
/// diagnostics go to standard error; the returned status only states that the compilation failed.
absl::StatusOr<LoadedProgram> loadProgram(llvm::StringRef path, const CompileOptions &options);

/// Compiles IR in memory as `loadProgram` does. `name` replaces the path in messages.
absl::StatusOr<std::shared_ptr<const runtime::Executable>>
compileProgram(std::unique_ptr<llvm::MemoryBuffer> text, llvm::StringRef name, const CompileOptions &options);

/// Returns the entry called `name`. Without a name, returns the only entry, or the first that exists of train,
/// forward_backward, loss and forward. The error lists the entries.
absl::StatusOr<const format::EntryT *> findEntry(const runtime::Executable &executable, llvm::StringRef name);

} // namespace cs336

#endif // CS336_DRIVER_RUN_PROGRAM_H
