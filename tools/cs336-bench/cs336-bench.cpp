//===- cs336-bench.cpp - Measures models ----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DoctorCommand.h"
#include "StudyCommand.h"
#include "cs336/Bench/AllReduce/AllReduceCommand.h"
#include "cs336/Bench/Attention/AttentionCommand.h"
#include "cs336/Bench/Compare/CompareCommand.h"
#include "cs336/Bench/DDP/DDPCommand.h"
#include "cs336/Bench/Explain/ExplainCommand.h"
#include "cs336/Bench/Model/ModelCommand.h"
#include "cs336/Bench/Numerics/AccumulateCommand.h"
#include "cs336/Bench/Numerics/DtypesCommand.h"
#include "cs336/Bench/Numerics/NormErrorCommand.h"
#include "cs336/Bench/Peer/PeerFailure.h"
#include "cs336/Bench/Plan/PlanCommand.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Bench/Scaling/ScalingCommand.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Driver/Tool/ToolMain.h"
#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/WithColor.h"

using namespace cs336::bench;
namespace cl = llvm::cl;

static constexpr llvm::StringLiteral kOverview = R"(Measures Transformer training

Flags that describe the model take lists with commas, except in `explain`; every combination is measured. The default
--mode of `model` is forward, and that of other commands is train. Ctrl-C or `timeout` ends a sweep with the report of
what it has measured; a second Ctrl-C ends it at once. Cells that do not fit into memory are marked OOM, which is not an
error. Exit codes: 0, 1 for errors, 2 if cells of --peer are missing, 128 plus the number of a signal that ended it.
)";

namespace {
struct Example {
  llvm::StringLiteral description;
  llvm::StringLiteral line;
};
} // namespace

static constexpr Example kExamples[] = {
    {"Forward, forward and backward, and the whole step of one size:",
     "cs336-bench model --size small --mode forward,forward_backward,train --steps 5"},
    {"Any hyper-parameters, in the flags of published scripts:",
     "cs336-bench model --n_layers 4 --d_model 512 --n_heads 16 --d_ff 1344 --warmup_steps 5 --n_steps 10 --backward"},
    {"Float32 beside bfloat16:", "cs336-bench model --size small --mode forward,train --dtype fp32,bf16"},
    {"A sweep over sizes and contexts, and the effect of warming up, as Markdown:",
     "cs336-bench model --size small,medium --context-length 128,256 --warmup 0,1,2,5 --format markdown"},
    {"Memory, kernels, FLOPs and bytes before anything runs; the device does not have to be present:",
     "cs336-bench plan --size xl --context-length 512 --device cuda --dtype bf16 --memory-limit 40GiB"},
    {"When communication limits a step on 8 to 1024 GPUs, by arithmetic:",
     "cs336-bench scaling --size 2.7B --context-length 1024 --global-batch 1024"},
    {"A kernel of a program: its operations, text, registers and occupancy, and what limits its speed:",
     "cs336-bench explain attention --size small --device cuda --dtype bf16"},
    {"Attention alone, forward and backward, pass by pass beside PyTorch:",
     "cs336-bench attention --length 256,1024,4096 --head-dim 16,64 --fusion none,flash --peer torch:naive,compiled"},
    {"The bandwidth of all-reduces between processes and between threads of this host:",
     "cs336-bench allreduce --backend tcp,threads --ranks 2,4 --size 1MB,10MB"},
    {"Training steps on two ranks by the mode of exchange, and the share of communication that no computation hides:",
     "cs336-bench ddp --size tiny --distribute none,flat,overlap,bucket --ranks 2"},
    {"The studies of the assignment, and of published write-ups about it:", "cs336-bench study --list"},
    {"The flags of a study:", "cs336-bench study benchmarking_script --help"},
    {"The measurements of a study:", "cs336-bench study mixed_precision_accumulation"},
    {"The times that differ between two runs by more than noise:",
     "cs336-bench compare before.json after.json --tolerance 2"},
    {"This machine's hardware and libraries, and the features that lack one:", "cs336-bench doctor"},
};

/// Returns the overview for `--help`, with the examples of a command, or with those of all commands if the name is
/// empty.
static std::string getOverview(llvm::StringRef command) {
  std::string text = kOverview.str();
  std::string start = ("cs336-bench " + command).str();
  for (const Example &example : kExamples)
    if (example.line.starts_with(start))
      text += ("\n" + example.description + "\n  " + example.line).str();
  text += '\n';
  return text;
}

/// Returns the command line quoted for a shell, with this program's name instead of its path.
static std::string quote(llvm::ArrayRef<const char *> arguments) {
  std::string line = "cs336-bench";
  llvm::raw_string_ostream stream(line);
  for (const char *argument : arguments.drop_front())
    llvm::sys::printArg(stream << " ", argument, /*Quote=*/false);
  return line;
}

/// Returns INVALID_ARGUMENT if the first argument is a word but not the name of a command.
static absl::Status checkCommand(llvm::ArrayRef<Command *> commands, llvm::ArrayRef<char *> arguments) {
  llvm::StringRef name = arguments.size() > 1 ? arguments[1] : "-";
  auto names = llvm::map_to_vector(commands, [](Command *command) { return command->getSubCommand().getName(); });
  if (name.starts_with("-") || llvm::is_contained(names, name))
    return absl::OkStatus();
  return absl::InvalidArgumentError(cs336::describeUnknown("command", name, names));
}

static int measure(int argc, char **argv) {
  ModelCommand model;
  AttentionCommand attention;
  PlanCommand plan;
  ScalingCommand scaling;
  AccumulateCommand accumulate;
  DtypesCommand dtypes;
  NormErrorCommand normError;
  DoctorCommand doctor;
  static int anchor; // Its address is within this program.
  std::string program = llvm::sys::fs::getMainExecutable(argv[0], &anchor);
  AllReduceCommand allReduce(program);
  DDPCommand ddp(program);
  std::vector<Command *> commands{&model,   &attention,  &allReduce, &ddp,       &plan,
                                  &scaling, &accumulate, &dtypes,    &normError, &doctor};
  StudyCommand study(program, commands);
  CompareCommand compare(commands);
  ExplainCommand explain(model);
  commands.insert(commands.end(), {&study, &compare, &explain});

  cl::OptionCategory none{"No options without a subcommand"};
  cs336::hideOtherFlags({&none});
  for (Command *command : commands)
    command->hideOtherOptions();
  if (absl::Status status = checkCommand(commands, llvm::ArrayRef(argv, argc)); !status.ok()) {
    llvm::WithColor::error(llvm::errs(), "cs336-bench") << std::string(status.message()) << "\n";
    return 1;
  }
  llvm::StringRef first = argc > 1 ? argv[1] : "";
  cl::ParseCommandLineOptions(argc, argv, getOverview(first.starts_with("-") ? "" : first));
  cs336::registerPasses();
  absl::Status status = absl::InvalidArgumentError(
      "no command is given: see cs336-bench model --help; cs336-bench --help lists all commands");
  for (Command *command : commands)
    if (command->getSubCommand())
      status = command->run(quote(llvm::ArrayRef(argv, argc)));
  llvm::outs().flush();
  if (status.ok())
    return 0;
  llvm::WithColor::error(llvm::errs(), "cs336-bench") << std::string(status.message()) << "\n";
  if (isPeerMissing(status))
    return kPeerMissingExitCode;
  // The exit code that shells report for a process ended by a signal.
  return getInterruption() != 0 ? 128 + getInterruption() : 1;
}

int main(int argc, char **argv) {
  return cs336::toolMain(argc, argv, [&] { return measure(argc, argv); });
}
