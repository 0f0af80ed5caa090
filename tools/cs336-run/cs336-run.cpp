//===- cs336-run.cpp - Runs IR or an executable ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankLauncher.h"
#include "RankRun.h"
#include "RunFlags.h"
#include "cs336/Bench/Profile/TraceOutput.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Run/Program.h"
#include "cs336/Driver/Run/RankTraceFile.h"
#include "cs336/Driver/Tool/ToolMain.h"
#include "cs336/runtime/Cores.h"
#include "cs336/runtime/TcpGroup.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include <mutex>
#include <thread>

using namespace cs336;
using namespace cs336::runtime;
namespace cl = llvm::cl;

static constexpr llvm::StringLiteral kOverview =
    R"(Runs a program: IR in any phase, which is compiled first, or an executable

One training step of a small model on random tokens, then a second one on the same tokens:
  cs336-translate --import-transformer --size tiny --context-length 64 -o tiny.mlir
  cs336-run tiny.mlir --random-inputs --steps 2
Held-out loss of trained parameters, with tensors from files (.npy, .npz, .safetensors):
  cs336-run tiny.mlir --entry loss --params model.safetensors --inputs batch.npz --outputs loss.npz
Two processes that train on a batch each and average their gradients:
  cs336-run tiny.mlir --random-inputs --nproc 2 --distribute bucket
The source of a NaN:
  cs336-run tiny.mlir --random-inputs --check-nan
The time of each command:
  cs336-run tiny.mlir --random-inputs --steps 5 --profile
The values of the attention of layer 0:
  cs336-run tiny.mlir --random-inputs --dump-values 'layers.0.attn.*'
)";

/// Loads or compiles the program. Every process compiles.
static absl::StatusOr<std::shared_ptr<const Executable>> load(const RunFlags &flags) {
  absl::StatusOr<LoadedProgram> program = flags.compile.compile(flags.device, [&](CompileOptions options) {
    options.dumpDir = getPathOfRank(options.dumpDir, flags.place ? flags.place->rank : 0);
    return loadProgram(flags.program, options);
  });
  if (!program.ok())
    return program.status();
  if (!program->wasCompiled)
    if (absl::Status status =
            refuseFlags(flags.compileCategory, cl::SubCommand::getTopLevel(),
                        flags.program + " is compiled already; pass it to cs336-translate --emit-executable instead");
        !status.ok())
      return status;
  int64_t worldSize = program->executable->description().world_size;
  if (worldSize != flags.ranks)
    return absl::InvalidArgumentError(absl::StrCat(
        flags.program.getValue(), " is a program for ", worldSize, worldSize == 1 ? " rank" : " ranks",
        ", but this run has ", flags.ranks.getValue(), ": pass --ranks ", worldSize, " or --nproc ", worldSize,
        worldSize == 1 && !flags.distribute.areGiven() ? ", or --distribute, which averages gradients over ranks"
                                                       : ""));
  return std::move(program->executable);
}

/// Writes the traces of ranks to one file, or to one file each.
static absl::Status writeTraces(const RunFlags &flags, llvm::ArrayRef<RankTrace> traces) {
  llvm::StringRef path = flags.profile.getTracePath().path;
  if (!traces.empty() && flags.hasOneTrace())
    return bench::writeTraceFile(traces, path, "cs336-run");
  absl::Status status;
  for (const RankTrace &trace : traces)
    status.Update(bench::writeTraceFile(trace, getPathOfRank(path, trace.rank), "cs336-run"));
  return status;
}

/// Runs the entry on several ranks of this process, one thread each, and prints the output of each rank under a
/// heading. If a rank fails, the others fail at their next collective; returns the error of the rank that failed first.
static absl::Status runRanks(const RunFlags &flags, const std::shared_ptr<const Executable> &executable,
                             const format::EntryT &entry) {
  // A rank that is done stays in the group until all are: GPUs may still exchange its data.
  std::vector<std::shared_ptr<Communicator>> group;
  for (std::unique_ptr<Communicator> &each :
       CreateInProcessGroup(flags.ranks, absl::Seconds(flags.rankTimeout.getValue())))
    group.push_back(std::move(each));
  std::vector<std::string> texts(group.size());
  std::mutex mutex;
  absl::Status first;            // Guarded by mutex.
  std::vector<RankTrace> traces; // Guarded by mutex.
  auto runRank = [&](size_t rank) {
    llvm::raw_string_ostream os(texts[rank]);
    RankRun run(flags, executable, entry, group[rank], os);
    absl::Status status = run.run();
    if (!status.ok())
      group[rank].reset();
    // The rank leaves the group after this, so that its error is recorded before the errors that follow from it.
    std::lock_guard<std::mutex> lock(mutex);
    if (std::optional<RankTrace> trace = run.takeTrace())
      traces.push_back(*std::move(trace));
    if (!status.ok())
      first.Update(absl::Status(status.code(), absl::StrCat("rank ", rank, ": ", status.message())));
  };
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank != group.size(); ++rank)
    threads.emplace_back(runRank, rank);
  for (std::thread &thread : threads)
    thread.join();
  for (auto [rank, text] : llvm::enumerate(texts))
    llvm::outs() << "rank " << rank << "\n" << text;
  llvm::sort(traces, [](const RankTrace &a, const RankTrace &b) { return a.rank < b.rank; });
  first.Update(writeTraces(flags, traces));
  return first;
}

/// Runs the entry on one rank. The communicator is null if there is only one rank.
static absl::Status runRank(const RunFlags &flags, std::shared_ptr<const Executable> executable,
                            const format::EntryT &entry, std::unique_ptr<Communicator> communicator) {
  RankRun run(flags, std::move(executable), entry, std::move(communicator), llvm::outs());
  absl::Status status = run.run();
  std::optional<RankTrace> trace = run.takeTrace();
  if (!trace)
    return status;
  status.Update(flags.traceFolder.empty() ? writeTraces(flags, *trace) : writeRankTrace(*trace, flags.traceFolder));
  return status;
}

/// Prints what else a user may want of this run.
static void printHint(const RunFlags &flags, format::Mode mode) {
  bool isTraining = mode == format::Mode::train;
  llvm::SmallVector<llvm::StringRef> hints;
  if (isTraining && flags.steps == 1)
    hints.push_back("--steps 10 shows the loss fall");
  if (isTraining && flags.saveParams.empty() && flags.saveState.empty())
    hints.push_back("--save-params FILE.safetensors saves the trained parameters");
  if (!isTraining && flags.dumpValues.empty())
    hints.push_back("--dump-values '*' shows every value");
  if (!isTraining && flags.outputs.empty())
    hints.push_back("--outputs FILE.npz keeps the results");
  if (!hints.empty())
    llvm::errs() << "next: " << llvm::join(hints, "; ") << "\n";
}

static absl::Status run(RunFlags &flags, llvm::ArrayRef<char *> arguments) {
  if (absl::Status status = flags.readPlace(); !status.ok())
    return status;
  if (absl::Status status = flags.check(); !status.ok())
    return status;
  if (flags.isLauncher())
    return launchRanks(flags, arguments);
  // Joins the group before the program is compiled, so that a missing rank is reported in time.
  std::unique_ptr<Communicator> communicator;
  if (flags.place) {
    absl::StatusOr<std::unique_ptr<Communicator>> joined =
        JoinTcpGroup(*flags.place, absl::Seconds(flags.rankTimeout.getValue()));
    if (!joined.ok())
      return joined.status();
    communicator = *std::move(joined);
    if (absl::Status status = BindToShareOfCores(*communicator); !status.ok())
      return status;
  }
  bool isFirst = !communicator || communicator->rank() == 0;
  absl::StatusOr<std::shared_ptr<const Executable>> executable = load(flags);
  if (!executable.ok())
    return executable.status();
  absl::StatusOr<const format::EntryT *> found = findEntry(**executable, flags.entry);
  if (!found.ok())
    return found.status();
  const format::EntryT &entry = **found;
  // A profile has the steps until a signal. Without one, a signal has nothing to leave behind.
  if (flags.profile.isProfiled())
    bench::catchInterruptions("cs336-run");
  bool areThreads = flags.ranks > 1 && !flags.place;
  absl::Status status =
      areThreads ? runRanks(flags, *executable, entry) : runRank(flags, *executable, entry, std::move(communicator));
  if (!status.ok() || !isFirst)
    return status;
  llvm::outs().flush();
  printHint(flags, entry.mode);
  return absl::OkStatus();
}

static int runTool(int argc, char **argv) {
  registerPasses();
  RunFlags flags;
  hideOtherFlags({&flags.category, &flags.compileCategory});
  cl::ParseCommandLineOptions(argc, argv, kOverview);
  absl::Status status = run(flags, llvm::ArrayRef(argv, argc));
  if (status.ok())
    return 0;
  llvm::outs().flush();
  llvm::WithColor::error(llvm::errs(), "cs336-run") << std::string(status.message()) << "\n";
  // The exit code that shells report for a process ended by a signal.
  return bench::getInterruption() != 0 ? 128 + bench::getInterruption() : 1;
}

int main(int argc, char **argv) {
  return toolMain(argc, argv, [&] { return runTool(argc, argv); });
}
