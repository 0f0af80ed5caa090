//===- RunFlags.h - The flags of cs336-run ----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_CS336_RUN_RUNFLAGS_H
#define CS336_TOOLS_CS336_RUN_RUNFLAGS_H

#include "cs336/Bench/Profile/ProfileFlags.h"
#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Driver/Flags/ExchangeFlag.h"
#include "cs336/Driver/Flags/MemoryLimitFlag.h"
#include "cs336/Driver/Flags/NoGraphFlag.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/runtime/RankEnvironment.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

#include <optional>
#include <string>

namespace cs336 {

/// The flags of cs336-run.
struct RunFlags {
  llvm::cl::OptionCategory category{"Running"};
  llvm::cl::opt<std::string> program{llvm::cl::Positional, llvm::cl::Required,
                                     llvm::cl::desc("<program.mlir or program.cs336x>"), llvm::cl::cat(category)};
  TextFlag entry{"entry",
                 llvm::cl::desc("Entry point; default is the only one, or the first there is of train, "
                                "forward_backward, loss, forward"),
                 llvm::cl::value_desc("name"), llvm::cl::cat(category)};
  llvm::cl::list<std::string> inputs{
      "inputs",
      llvm::cl::desc(
          "Input tensors: files, or NAME=FILE for a file with one tensor; {rank} in a path stands for the rank"),
      llvm::cl::value_desc("file,..."), llvm::cl::CommaSeparated, llvm::cl::cat(category)};
  llvm::cl::opt<bool> randomInputs{
      "random-inputs", llvm::cl::desc("Draw the inputs at random, from --seed plus the rank"), llvm::cl::cat(category)};
  TextFlag params{"params", llvm::cl::desc("Parameters to start from, and optimizer state if the file has any"),
                  llvm::cl::value_desc("file"), llvm::cl::cat(category)};
  llvm::cl::opt<uint64_t> seed{"seed", llvm::cl::desc("Seed of initial values and random inputs (default 0)"),
                               llvm::cl::value_desc("number"), llvm::cl::init(0), llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> steps{"steps", llvm::cl::desc("How often to run the entry on these inputs (default 1)"),
                               llvm::cl::value_desc("number"), llvm::cl::init(1), llvm::cl::cat(category)};
  TextFlag outputs{"outputs",
                   llvm::cl::desc("Where to write the outputs of the last run; requires {rank} in the path with "
                                  "several ranks"),
                   llvm::cl::value_desc("file"), llvm::cl::cat(category)};
  TextFlag saveParams{
      "save-params",
      llvm::cl::desc("Where to write the parameters afterwards; with several ranks, rank 0 writes the file, "
                     "or each rank its own if the path contains {rank}"),
      llvm::cl::value_desc("file"), llvm::cl::cat(category)};
  TextFlag saveState{
      "save-state",
      llvm::cl::desc("Where to write parameters and optimizer state, to go on with --params; {rank} as for "
                     "--save-params"),
      llvm::cl::value_desc("file"), llvm::cl::cat(category)};
  TextFlag dumpValues{"dump-values",
                      llvm::cl::desc("Print the values whose name, command or location matches a glob: 'layers.0.*'"),
                      llvm::cl::value_desc("pattern"), llvm::cl::cat(category)};
  llvm::cl::opt<bool> checkNaN{"check-nan", llvm::cl::desc("Stop at the first command that writes a NaN, and name it"),
                               llvm::cl::cat(category)};
  llvm::cl::opt<bool> poisonMemory{
      "poison-memory",
      llvm::cl::desc("Fill inputs, outputs and workspaces with NaN before each step, so that reads of "
                     "unwritten memory show"),
      llvm::cl::cat(category)};
  MemoryLimitFlag memoryLimit{"Maximum memory of a rank, e.g. 40GiB: a program whose planned memory is larger is "
                              "an error before anything is allocated",
                              category, llvm::cl::SubCommand::getTopLevel()};
  bench::ProfileFlags profile{category};
  NoGraphFlag noGraph{category, llvm::cl::SubCommand::getTopLevel()};
  llvm::cl::opt<int> numThreads{
      "num-threads", llvm::cl::desc("Threads of one command; default 0: one per core, divided among the ranks"),
      llvm::cl::value_desc("number"), llvm::cl::init(0), llvm::cl::cat(category)};
  llvm::cl::opt<int> ranks{
      "ranks",
      llvm::cl::desc("Run the program on this many ranks of one process, from 1 to 8 (default 1); all "
                     "start from the same parameters. --trace as for --nproc"),
      llvm::cl::value_desc("number"), llvm::cl::init(1), llvm::cl::cat(category)};
  llvm::cl::opt<int> processes{
      "nproc",
      llvm::cl::desc(
          "Start this many processes on this host, each of which runs the program as one rank. Lines that "
          "they print begin with the rank. A rank that fails ends all. --trace writes one file of all ranks, "
          "or one per rank if the path contains {rank}"),
      llvm::cl::value_desc("number"), llvm::cl::init(1), llvm::cl::cat(category)};
  TextFlag traceFolder{"trace-folder",
                       llvm::cl::desc("Folder in which a rank of --nproc writes its trace for the process that started "
                                      "it"),
                       llvm::cl::value_desc("folder"), llvm::cl::ReallyHidden};
  RealFlag rankTimeout{"rank-timeout",
                       llvm::cl::desc("Seconds in which all ranks end after one fails, hangs or does not arrive "
                                      "(default 30). A rank waits for the others for three fifths of this time. "
                                      "Requires several ranks"),
                       llvm::cl::value_desc("number"), llvm::cl::init(30), llvm::cl::cat(category)};
  DeviceFlag device{category, llvm::cl::SubCommand::getTopLevel()};
  ExchangeFlag exchange{category, llvm::cl::SubCommand::getTopLevel()};
  llvm::cl::OptionCategory compileCategory{"Compiling (of IR)"};
  DistributeFlags distribute{ranks, compileCategory, llvm::cl::SubCommand::getTopLevel()};
  CompileFlags compile{compileCategory, llvm::cl::SubCommand::getTopLevel(), CompileFlags::Sweep::No, &distribute};

  /// The place of this process if it is one rank of several processes.
  std::optional<runtime::RankEnvironment> place;

  /// Reads the place, and sets the number of ranks to that of the processes. Returns an error if flags or variables
  /// conflict.
  absl::Status readPlace();

  /// Returns whether flags of ranks may be given to a run of one rank: scripts and launchers pass them with any number.
  bool acceptsOneRank() const;

  /// Returns whether this process starts the ranks.
  bool isLauncher() const { return processes > 1 && !place; }

  /// Returns whether one file has the traces of all ranks, if there is a trace.
  bool hasOneTrace() const;

  /// Returns whether this process starts the ranks, and writes one trace of all of them.
  bool collectsTraces() const;

  /// Returns an error if flags have impossible values, or conflict.
  absl::Status check() const;

private:
  /// Returns an error if a file cannot be written, or would replace another one of the run.
  absl::Status checkFiles() const;
};

/// Returns a path with each `{rank}` replaced by the number of the rank.
std::string getPathOfRank(llvm::StringRef path, int rank);

/// Returns whether a rank writes a checkpoint to this path: every rank if it contains `{rank}`, otherwise rank 0. All
/// ranks have the same whole tensors.
bool writesPath(llvm::StringRef path, int rank);

} // namespace cs336

#endif // CS336_TOOLS_CS336_RUN_RUNFLAGS_H
