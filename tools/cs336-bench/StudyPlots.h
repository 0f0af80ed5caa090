//===- StudyPlots.h - Pictures of a folder of studies -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYPLOTS_H
#define CS336_TOOLS_BENCH_STUDYPLOTS_H

#include "llvm/ADT/StringRef.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace cs336::bench {

/// Returns the command that draws the results in `folder` into `pictures`.
std::string describePlotCommand(llvm::StringRef folder, llvm::StringRef pictures);

/// Runs this command with the python3 on PATH. It also finds the package cs336 beside the tool `program`: in
/// bin/../python. Returns the paths of the pictures that it wrote. Returns UNAVAILABLE with the last line of what it
/// printed if it fails, for example because a package is missing.
absl::StatusOr<std::vector<std::string>> drawPlots(llvm::StringRef program, llvm::StringRef folder,
                                                   llvm::StringRef pictures);

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYPLOTS_H
