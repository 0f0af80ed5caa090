//===- StudyProcess.h - A command of a study as a process -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYPROCESS_H
#define CS336_TOOLS_BENCH_STUDYPROCESS_H

#include "StudyLines.h"

#include "absl/status/status.h"

#include <optional>
#include <string>

namespace cs336::bench {

/// Runs the command as a process of `program`, after printing it to the standard error stream. With a path, its
/// standard output goes there. An interruption is passed on to it. Returns INTERNAL if it failed, and the status of
/// `makePeerMissing` if only cells of the peer are missing.
absl::Status runStudyLine(const std::string &program, const StudyLine &line, std::optional<llvm::StringRef> output);

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYPROCESS_H
