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

/// A command of this tool with some of its flags fixed.
struct StudyStep {
  llvm::StringRef command;
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> flags;
};

/// A problem of the assignment, with its name there, and the commands that measure it.
struct Study {
  llvm::StringRef name, description;
  std::vector<StudyStep> steps;
};

const std::vector<Study> &getStudies();

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDIES_H
