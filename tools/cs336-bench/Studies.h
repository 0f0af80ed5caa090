//===- Studies.h - Measurements of published write-ups ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDIES_H
#define CS336_TOOLS_BENCH_STUDIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <utility>
#include <vector>

namespace cs336::bench {

using StudyFlags = std::vector<std::pair<llvm::StringRef, llvm::StringRef>>;

/// A command of this tool with some of its flags fixed.
struct StudyStep {
  llvm::StringRef command;
  StudyFlags flags;
  /// On the CPU unless --full is given: replace those of `flags`, or join them. A laptop with two cores and 4 GiB runs
  /// all steps of a study within about two minutes.
  StudyFlags cpuFlags;

  /// The flags on that device, in the order of `flags`.
  StudyFlags getFlags(bool isSmall) const;
};

/// A problem of the assignment, with its name there, and the commands that measure it.
struct Study {
  llvm::StringRef name, description, source;
  std::vector<StudyStep> steps;
};

const std::vector<Study> &getStudies();

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDIES_H
