//===- AttentionResources.h - Resources of attention's kernels --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_ATTENTIONRESOURCES_H
#define CS336_BENCH_ATTENTION_ATTENTIONRESOURCES_H

#include "cs336/runtime/Executable.h"

#include "absl/status/statusor.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace cs336::bench {

/// The resources of the kernels of a program for GPUs. Each number is the maximum over all kernels.
struct KernelResources {
  /// The architecture of the machine code; empty for a program without any.
  std::string architecture;
  /// Static and dynamic shared memory of a block.
  int64_t sharedBytes = 0;
  int64_t registersPerThread = 0;
  /// Local memory per thread: spilled registers, and arrays that are not in registers.
  int64_t localBytesPerThread = 0;
};

/// Returns the resources of the executable's machine code for an architecture; no architecture and zeros if it has
/// none. DATA_LOSS if the code cannot be read.
absl::StatusOr<KernelResources> readResources(const runtime::Executable &executable, llvm::StringRef architecture);

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONRESOURCES_H
