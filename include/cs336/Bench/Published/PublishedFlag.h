//===- PublishedFlag.h - Published figures beside results -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PUBLISHED_PUBLISHEDFLAG_H
#define CS336_BENCH_PUBLISHED_PUBLISHEDFLAG_H

#include "cs336/Bench/Report/Report.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// `--published`: the study whose published figures a command shows beside its results.
class PublishedFlag : public llvm::cl::opt<std::string> {
public:
  PublishedFlag(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand);

  /// Returns INVALID_ARGUMENT if the flag names a study without published figures.
  absl::Status check() const;
  /// Returns the report with the table of published figures at its end, if the flag is given and the results have the
  /// settings of one.
  Report addTo(Report report) const;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PUBLISHED_PUBLISHEDFLAG_H
