//===- TraceOutput.cpp - The file of --trace ------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/TraceOutput.h"

#include "cs336/Bench/Progress/Progress.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

#include <optional>

using namespace cs336;
using namespace cs336::bench;

absl::Status bench::writeTraceFile(llvm::ArrayRef<RankTrace> ranks, llvm::StringRef path, llvm::StringRef tool) {
  constexpr size_t kLongTrace = 100'000; // Is written in about a second.
  size_t numEvents = 0;
  for (const RankTrace &rank : ranks)
    numEvents += rank.trace.spans.size();
  std::optional<Progress> progress;
  if (numEvents >= kLongTrace)
    progress.emplace(1).start(llvm::formatv("{0}: {1} events", path, numEvents).str());
  absl::Status status = writeTrace(ranks, path, [&](double fraction) {
    if (progress)
      progress->update("writing", fraction);
  });
  progress.reset();
  if (!status.ok())
    return status;
  for (const RankTrace &rank : ranks)
    if (std::string omission = describeOmission(rank); !omission.empty())
      llvm::WithColor::warning(llvm::errs(), tool)
          << "--trace: '" << path << "' has " << omission << " of rank " << rank.rank
          << ", because a trace has at most " << RankTrace::kMostSpans << " per rank; --profile counts all\n";
  return absl::OkStatus();
}
