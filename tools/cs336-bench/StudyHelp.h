//===- StudyHelp.h - Help about one study -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYHELP_H
#define CS336_TOOLS_BENCH_STUDYHELP_H

#include "StudyLines.h"
#include "llvm/Support/raw_ostream.h"

namespace cs336::bench {

/// Writes what `study NAME --help` says: what the study reproduces, its cells, memory and time on the CPU and on a GPU,
/// and for each of its commands the flags that it sets, with their values on either device, and the columns.
absl::Status writeStudyHelp(const Study &study, const StudyArguments &arguments, const std::string &program,
                            llvm::ArrayRef<Command *> commands, llvm::raw_ostream &stream);

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYHELP_H
