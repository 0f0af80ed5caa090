//===- ProgramParts.h - Parts of a program of one entry ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_PROGRAMPARTS_H
#define CS336_TEST_RUNTIME_PROGRAMPARTS_H

#include "cs336/runtime/Executable.h"

#include <cstddef>
#include <cstdint>

namespace cs336::runtime::testing {

inline format::EntryT &Entry(format::ExecutableT &executable) { return *executable.entries[0]; }

inline format::BufferT &Buffer(format::ExecutableT &executable, uint32_t index) {
  return *Entry(executable).buffers[index];
}

/// Returns the launch at that position of the commands.
inline format::LaunchT &Launch(format::ExecutableT &executable, size_t index = 0) {
  return *Entry(executable).commands[index]->body.AsLaunch();
}

inline format::SignatureT &Signature(format::ExecutableT &executable, size_t kernel = 0) {
  return *executable.kernels[kernel]->signature;
}

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_PROGRAMPARTS_H
