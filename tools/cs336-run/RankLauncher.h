//===- RankLauncher.h - Ranks of cs336-run as processes ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_CS336_RUN_RANKLAUNCHER_H
#define CS336_TOOLS_CS336_RUN_RANKLAUNCHER_H

#include "RunFlags.h"
#include "llvm/ADT/ArrayRef.h"

#include "absl/status/status.h"

namespace cs336 {

/// Runs this command again, as the processes of `--nproc`, and waits for them. `arguments` are those of this process,
/// with the name of the program.
///
/// If the path of `--trace` does not contain `{rank}`, the ranks write their traces to a temporary folder, and this
/// process writes them to one file. It does so after a failure or a signal, too, with the traces that exist, and warns
/// of the ranks that are missing. Returns the first error.
absl::Status launchRanks(const RunFlags &flags, llvm::ArrayRef<char *> arguments);

} // namespace cs336

#endif // CS336_TOOLS_CS336_RUN_RANKLAUNCHER_H
