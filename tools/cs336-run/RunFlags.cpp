//===- RunFlags.cpp - The flags of cs336-run ------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunFlags.h"

#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Flags/OutputFile.h"
#include "cs336/runtime/Launcher.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include <deque>

using namespace cs336;
using namespace cs336::runtime;

static constexpr llvm::StringLiteral kRankInPath = "{rank}";

std::string cs336::getPathOfRank(llvm::StringRef path, int rank) {
  return absl::StrReplaceAll(absl::string_view(path.data(), path.size()),
                             {{absl::string_view(kRankInPath.data(), kRankInPath.size()), absl::StrCat(rank)}});
}

bool cs336::writesPath(llvm::StringRef path, int rank) { return rank == 0 || path.contains(kRankInPath); }

/// Rejects files of tensors that could not be written, before a long run.
static absl::Status checkTensorFile(llvm::StringRef flag, const std::string &path) {
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (extension != ".npy" && extension != ".npz" && extension != ".safetensors")
    return absl::InvalidArgumentError(absl::StrCat(path, ": must end in .npy, .npz or .safetensors"));
  return checkOutputFile(flag, path);
}

bool RunFlags::acceptsOneRank() const {
  return ranks.getNumOccurrences() != 0 || processes.getNumOccurrences() != 0 || HasLauncher();
}

absl::Status RunFlags::readPlace() {
  if (processes < 1 || processes > kMostLaunchedRanks)
    return absl::InvalidArgumentError(
        absl::StrCat("--nproc is ", processes.getValue(), ", must be from 1 to ", kMostLaunchedRanks));
  bool areThreads = ranks.getNumOccurrences() != 0;
  if (areThreads && processes.getNumOccurrences() != 0)
    return absl::InvalidArgumentError("--ranks conflicts with --nproc: ranks are threads or processes");
  absl::StatusOr<std::optional<RankEnvironment>> found = ReadRankEnvironment();
  if (!found.ok())
    return found.status();
  place = *std::move(found);
  int size = place ? place->size : processes.getValue();
  if (place && processes.getNumOccurrences() != 0 && processes != size)
    return absl::InvalidArgumentError(absl::StrCat("--nproc is ", processes.getValue(),
                                                   ", but the environment is that of "
                                                   "rank ",
                                                   place->rank, " of ", size));
  if (place && areThreads)
    return absl::InvalidArgumentError(absl::StrCat("--ranks conflicts with the environment, which is that of rank ",
                                                   place->rank, " of ", size, ": leave out --ranks"));
  if (size > 1)
    ranks.setValue(size);
  if (acceptsOneRank())
    distribute.acceptOneRank();
  return absl::OkStatus();
}

/// Rejects a path that all ranks would write. `alternative` continues the error with another way out.
static absl::Status requireRank(const OutputPath &output, int ranks, llvm::StringRef alternative) {
  if (output.path.empty() || output.path.contains(kRankInPath))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(output.flag.str(), " is ", output.path.str(), ", which all of the ",
                                                 ranks,
                                                 " ranks would write: put {rank} into the path, as in out-{rank}",
                                                 llvm::sys::path::extension(output.path).str(), alternative.str()));
}

static absl::Status checkRanks(const RunFlags &flags) {
  constexpr int kMostThreads = 8;
  int ranks = flags.ranks;
  if (ranks < 1 || (flags.ranks.getNumOccurrences() != 0 && ranks > kMostThreads))
    return absl::InvalidArgumentError(absl::StrCat("--ranks is ", ranks, ", must be from 1 to ", kMostThreads));
  if (ranks == 1 && !flags.acceptsOneRank()) {
    constexpr llvm::StringLiteral reason = "it requires several ranks: --ranks or --nproc";
    absl::Status status = refuseFlag(flags.rankTimeout, reason);
    status.Update(refuseFlag(flags.exchange, reason));
    return status;
  }
  if (absl::Status status = flags.exchange.check(flags.device); !status.ok())
    return status;
  if (flags.rankTimeout <= 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--rank-timeout is ", flags.rankTimeout.getValue(), ", must be above 0"));
  if (ranks == 1)
    return absl::OkStatus();
  if (flags.device.getValue().has_ordinal)
    return absl::InvalidArgumentError(absl::StrCat("--device ", ToString(flags.device), " names one GPU, but each of ",
                                                   ranks, " ranks requires its own: pass --device cuda"));
  if (flags.profile.hasRoofline())
    return absl::InvalidArgumentError(absl::StrCat("--roofline conflicts with a run of ", ranks, " ranks"));
  bool areThreads = flags.ranks.getNumOccurrences() != 0;
  if (areThreads && flags.profile.isProfiled() && flags.device.getValue().kind == DeviceKind::kCuda)
    return absl::InvalidArgumentError(absl::StrCat("--profile and --trace conflict with --ranks on GPUs, because a "
                                                   "process has one profiler: start the ranks with --nproc ",
                                                   ranks));
  absl::Status status = requireRank({"--outputs", flags.outputs.getValue()}, ranks, "");
  // Ranks that this program starts, as threads or as processes, share a trace.
  if (flags.place && flags.traceFolder.empty())
    status.Update(
        requireRank(flags.profile.getTracePath(), ranks, ", or start the ranks with --nproc, which writes one file"));
  return status;
}

bool RunFlags::hasOneTrace() const { return !profile.getTracePath().path.contains(kRankInPath); }

bool RunFlags::collectsTraces() const { return isLauncher() && !profile.getTracePath().path.empty() && hasOneTrace(); }

absl::Status RunFlags::check() const {
  if (absl::Status status = checkRanks(*this); !status.ok())
    return status;
  if (absl::Status status = compile.check(device); !status.ok())
    return status;
  if (absl::Status status = profile.check(); !status.ok())
    return status;
  if (absl::Status status = memoryLimit.check(); !status.ok())
    return status;
  if (absl::Status status = noGraph.check(device); !status.ok())
    return status;
  if (noGraph && profile.isProfiled())
    return absl::InvalidArgumentError("--no-graph conflicts with --profile and --trace, which time the graphs that a "
                                      "step runs as otherwise: leave out one of them");
  if (steps < 1)
    return absl::InvalidArgumentError(absl::StrCat("--steps is ", steps.getValue(), ", must be positive"));
  if (numThreads < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--num-threads is ", numThreads.getValue(), ", must not be negative"));
  if (randomInputs && !inputs.empty())
    return absl::InvalidArgumentError("--inputs conflicts with --random-inputs");
  return checkFiles();
}

namespace {
/// The files of all ranks that flags name.
class FilesOfRanks {
public:
  explicit FilesOfRanks(int ranks) : ranks(ranks) {}

  void add(llvm::StringRef flag, llvm::StringRef path) {
    if (path.empty())
      return;
    int count = path.contains(kRankInPath) ? ranks : 1;
    for (int rank = 0; rank != count; ++rank)
      files.push_back({flag, paths.emplace_back(getPathOfRank(path, rank))});
  }
  const std::vector<OutputPath> &get() const { return files; }

private:
  int ranks;
  std::deque<std::string> paths; // The files have views of these, which keep their addresses.
  std::vector<OutputPath> files;
};
} // namespace

absl::Status RunFlags::checkFiles() const {
  FilesOfRanks written(ranks), read(ranks), state(ranks), others(ranks);
  for (const auto &[flag, path] :
       {std::pair("--outputs", outputs.getValue()), std::pair("--save-params", saveParams.getValue()),
        std::pair("--save-state", saveState.getValue())}) {
    written.add(flag, path);
  }
  for (const OutputPath &file : written.get())
    if (absl::Status status = checkTensorFile(file.flag, file.path.str()); !status.ok())
      return status;
  written.add("--trace", profile.getTracePath().path);
  if (absl::Status status = compile.checkOutputs(written.get()); !status.ok())
    return status;

  read.add("the program", program.getValue());
  for (const std::string &input : inputs) {
    // A value NAME=FILE is one tensor.
    llvm::StringRef path = input;
    read.add("an input", llvm::sys::fs::exists(path) || !path.contains('=') ? path : path.split('=').second);
  }
  if (absl::Status status = checkKept(read.get(), written.get()); !status.ok())
    return status;
  // Trained parameters may replace those that the run started from.
  state.add("--params", params.getValue());
  others.add("--outputs", outputs.getValue());
  others.add("--trace", profile.getTracePath().path);
  return checkKept(state.get(), others.get());
}
