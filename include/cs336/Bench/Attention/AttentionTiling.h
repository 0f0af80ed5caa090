//===- AttentionTiling.h - Attention in selected tiles ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_ATTENTIONTILING_H
#define CS336_BENCH_ATTENTION_ATTENTIONTILING_H

#include "cs336/Bench/Attention/AttentionProgram.h"
#include "cs336/Target/CUDA/ScoreTile.h"
#include "llvm/ADT/ArrayRef.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>

namespace cs336::bench {

/// Parses "64x32", which is 64 queries and 32 keys, or "64", which is 64 of both. INVALID_ARGUMENT for anything else.
absl::StatusOr<cuda::ScoreTile> parseTile(llvm::StringRef text);

/// Returns "64x32".
std::string describeTile(const cuda::ScoreTile &tile);

/// Returns the option of `--cs336-pipeline` that selects the tile for all attentions of a program.
std::string getTileOption(const cuda::ScoreTile &tile);

/// The dynamic shared memory of a block.
struct BlockMemory {
  /// The function that requires the most bytes ("forward", "queries" or "keys"), and this number of bytes.
  llvm::StringRef function;
  int64_t requiredBytes = 0;
  /// The bytes of the architecture with the least shared memory, and its name.
  int64_t availableBytes = 0;
  std::string architecture;
};

/// Returns the shared memory that attention requires for the tile, or its gradient. UNIMPLEMENTED if the kernels with
/// tiles reject such heads.
absl::StatusOr<BlockMemory> getBlockMemory(const AttentionCase &attention, const cuda::ScoreTile &tile, bool isBackward,
                                           llvm::ArrayRef<std::string> architectures);

/// Returns OUT_OF_RANGE with both numbers if a block requires more shared memory than is available.
absl::Status checkFit(const BlockMemory &memory, const cuda::ScoreTile &tile);

/// Returns the text that a table shows instead of times: "does not fit", or that of getFailureText.
llvm::StringRef getAttentionFailureText(const absl::Status &status);

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONTILING_H
