//===- TimelineFiles.cpp - Flags of files of memory -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/TimelineFiles.h"

#include "cs336/Bench/Timeline/MemorySnapshot.h"
#include "cs336/Bench/Timeline/TimelineFile.h"
#include "cs336/Driver/Flags/OutputFile.h"
#include "cs336/Support/WriteOutput.h"
#include "llvm/Support/Path.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace path = llvm::sys::path;

TimelineFiles::TimelineFiles(cl::OptionCategory &category, cl::SubCommand &subcommand)
    : timeline("timeline", cl::desc("File for the memory over time, by command and kind: .csv or .json"),
               cl::value_desc("file"), cl::cat(category), cl::sub(subcommand)),
      snapshot("snapshot", cl::desc("File for a memory snapshot, .pickle or .pkl, which pytorch.org/memory_viz opens"),
               cl::value_desc("file"), cl::cat(category), cl::sub(subcommand)) {}

static absl::Status checkFile(llvm::StringRef flag, llvm::StringRef file, size_t numSteps) {
  if (file.empty())
    return absl::OkStatus();
  if (numSteps != 1)
    return absl::InvalidArgumentError(absl::StrCat(
        flag.str(), " requires one model, one --dtype, --fusion, --checkpoint and --mode, not ", numSteps, " cells"));
  return checkOutputFile(flag, file);
}

static bool isCSV(llvm::StringRef file) { return path::extension(file) == ".csv"; }

absl::Status TimelineFiles::check(size_t numSteps) const {
  if (!timeline.empty() && !isCSV(timeline) && path::extension(timeline) != ".json")
    return absl::InvalidArgumentError(
        absl::StrCat("--timeline is '", timeline.getValue(), "', must end with .csv or .json"));
  llvm::StringRef suffix = path::extension(snapshot);
  if (!snapshot.empty() && suffix != ".pickle" && suffix != ".pkl")
    return absl::InvalidArgumentError(
        absl::StrCat("--snapshot is '", snapshot.getValue(), "', must end with .pickle or .pkl"));
  if (absl::Status status = checkFile("--timeline", timeline, numSteps); !status.ok())
    return status;
  return checkFile("--snapshot", snapshot, numSteps);
}

static absl::Status writeFile(llvm::StringRef flag, llvm::StringRef file,
                              llvm::function_ref<void(llvm::raw_ostream &)> print) {
  if (file.empty())
    return absl::OkStatus();
  llvm::Error error = writeOutput(file, [&](llvm::raw_ostream &stream) {
    print(stream);
    return llvm::Error::success();
  });
  if (!error)
    return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(flag.str(), ": cannot write '", file.str(), "': ", llvm::toString(std::move(error))));
}

absl::Status TimelineFiles::write(const MemoryTimeline &memory, llvm::json::Object context) const {
  absl::Status status = writeFile("--timeline", timeline, [&](llvm::raw_ostream &stream) {
    if (isCSV(timeline))
      writeTimelineCSV(memory, stream);
    else
      writeTimelineJSON(memory, std::move(context), stream);
  });
  if (!status.ok())
    return status;
  OmittedAllocations omitted;
  status = writeFile("--snapshot", snapshot,
                     [&](llvm::raw_ostream &stream) { omitted = writeMemorySnapshot(memory, stream); });
  if (status.ok() && omitted.count > 0)
    llvm::errs() << "note: --snapshot leaves out " << omitted.count << " allocations of at most "
                 << omitted.largestBytes << " bytes\n";
  return status;
}
