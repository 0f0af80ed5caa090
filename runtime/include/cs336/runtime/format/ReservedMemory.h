//===- ReservedMemory.h - Memory that a session reserves --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_RESERVEDMEMORY_H
#define CS336_RUNTIME_FORMAT_RESERVEDMEMORY_H

#include "cs336/runtime/format/Executable_generated.h"

#include <cstdint>
#include <vector>

namespace cs336::format {

/// The number of further blocks on a GPU that are as large as an entry's block of inputs. The inputs of the next runs
/// are copied there while a run reads its own.
inline constexpr int64_t kInputSlots = 2;

/// Returns per variable whether a GPU leaves it in host memory: only the entry that sessions prepare with uses it.
/// Always false for a program for the CPU.
std::vector<bool> FindHostVariables(const ExecutableT &program);

/// The memory that a session reserves on its device, in bytes. A program that lacks its kernels is enough to compute
/// it. On the CPU, sessions also reserve a workspace, whose size depends on the machine and on the number of threads.
/// Sums saturate at INT64_MAX.
struct ReservedMemory {
  int64_t parameters = 0, state = 0, derived = 0; // A sharded variable counts the part of one rank.
  int64_t inputs = 0;                             // The inputs of all entries.
  int64_t input_slots = 0;                        // Further blocks of inputs, with their alignment. The CPU has none.
  int64_t alignment = 0;                          // The gaps behind variables and inputs.
  int64_t arena = 0;                              // The largest arena of all entries, which share it.
  int64_t host = 0; // Variables in host memory, see FindHostVariables(). They are not in the total.

  int64_t total() const;
};

ReservedMemory ComputeReservedMemory(const ExecutableT &program);

} // namespace cs336::format

#endif // CS336_RUNTIME_FORMAT_RESERVEDMEMORY_H
