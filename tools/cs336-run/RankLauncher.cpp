//===- RankLauncher.cpp - Ranks of cs336-run as processes -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankLauncher.h"

#include "cs336/Bench/Profile/TraceOutput.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Driver/Run/RankTraceFile.h"
#include "cs336/Support/JobFolder.h"
#include "cs336/runtime/Launcher.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

#include <string>
#include <vector>

using namespace cs336;
using namespace cs336::runtime;

/// Runs this command again with further flags.
static absl::Status launch(const RunFlags &flags, llvm::ArrayRef<char *> arguments,
                           llvm::ArrayRef<std::string> furtherFlags) {
  LaunchOptions options;
  options.command.push_back(llvm::sys::fs::getMainExecutable(arguments[0], reinterpret_cast<void *>(&launchRanks)));
  options.command.insert(options.command.end(), furtherFlags.begin(), furtherFlags.end());
  for (const char *argument : arguments.drop_front())
    options.command.push_back(argument);
  options.ranks = flags.processes;
  options.timeout = absl::Seconds(flags.rankTimeout.getValue());
  options.on_signal = bench::setInterruption;
  return LaunchRanks(options);
}

static llvm::raw_ostream &warn() { return llvm::WithColor::warning(llvm::errs(), "cs336-run"); }

/// Reads the traces that ranks have written, and warns of the missing ones.
static absl::StatusOr<std::vector<RankTrace>> readTraces(const RunFlags &flags, llvm::StringRef folder) {
  std::vector<RankTrace> traces;
  std::vector<int> missing;
  for (int rank = 0; rank != flags.processes; ++rank) {
    absl::StatusOr<RankTrace> trace = readRankTrace(folder, rank);
    if (absl::IsNotFound(trace.status()))
      missing.push_back(rank);
    else if (!trace.ok())
      return trace.status();
    else
      traces.push_back(*std::move(trace));
  }
  llvm::StringRef path = flags.profile.getTracePath().path;
  if (traces.empty())
    warn() << "--trace: '" << path << "' is not written, because no rank has a trace\n";
  else if (!missing.empty())
    warn() << "--trace: '" << path << "' lacks " << (missing.size() == 1 ? "rank " : "ranks ")
           << absl::StrJoin(missing, ", ") << ", which ended without a trace\n";
  return traces;
}

absl::Status cs336::launchRanks(const RunFlags &flags, llvm::ArrayRef<char *> arguments) {
  if (!flags.collectsTraces())
    return launch(flags, arguments, {});
  // A signal must not end this process while the folder exists.
  bench::catchInterruptions("cs336-run");
  absl::StatusOr<std::unique_ptr<JobFolder>> folder = JobFolder::create();
  if (!folder.ok())
    return absl::Status(folder.status().code(), absl::StrCat("--trace: ", folder.status().message()));
  // The launcher forwards later signals.
  if (absl::Status status = bench::checkInterruption(); !status.ok())
    return status;
  absl::Status status = launch(flags, arguments, {absl::StrCat("--trace-folder=", (*folder)->getPath())});
  absl::StatusOr<std::vector<RankTrace>> traces = readTraces(flags, (*folder)->getPath());
  // The trace may have 1 GB per rank. A second signal ends this process while it is written.
  folder->reset();
  absl::Status written = traces.status();
  if (traces.ok() && !traces->empty())
    written = bench::writeTraceFile(*traces, flags.profile.getTracePath().path, "cs336-run");
  if (status.ok())
    return written;
  if (!written.ok())
    warn() << std::string(written.message()) << "\n";
  return status;
}
