//===- cs336-run.cpp - Runs IR or an executable ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorSummary.h"
#include "ValueDump.h"
#include "cs336/Bench/Profile/ProfileReport.h"
#include "cs336/Bench/Report/ReportWriter.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Run/InputTensors.h"
#include "cs336/Driver/Run/Program.h"
#include "cs336/Driver/Run/RunProfile.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Driver/Tool/ToolMain.h"
#include "cs336/runtime/Checkpoint.h"
#include "cs336/runtime/TensorFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"

#include <optional>

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
Where a NaN comes from, where the time goes, and what the attention of layer 0 computes:
  cs336-run tiny.mlir --random-inputs --check-nan
  cs336-run tiny.mlir --random-inputs --steps 5 --profile
  cs336-run tiny.mlir --random-inputs --dump-values 'layers.0.attn.*'
)";

namespace {

struct Flags {
  cl::OptionCategory category{"Running"};
  cl::opt<std::string> program{cl::Positional, cl::Required, cl::desc("<program.mlir or program.cs336x>"),
                               cl::cat(category)};
  TextFlag entry{"entry",
                 cl::desc("Entry point; default is the only one, or the first there is of train, "
                          "forward_backward, loss, forward"),
                 cl::value_desc("name"), cl::cat(category)};
  cl::list<std::string> inputs{"inputs", cl::desc("Input tensors: files, or NAME=FILE for a file with one tensor"),
                               cl::value_desc("file,..."), cl::CommaSeparated, cl::cat(category)};
  cl::opt<bool> randomInputs{"random-inputs", cl::desc("Draw the inputs at random, from --seed"), cl::cat(category)};
  TextFlag params{"params", cl::desc("Parameters to start from, and optimizer state if the file has any"),
                  cl::value_desc("file"), cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("Seed of initial values and random inputs (default 0)"),
                         cl::value_desc("number"), cl::init(0), cl::cat(category)};
  cl::opt<int64_t> steps{"steps", cl::desc("How often to run the entry on these inputs (default 1)"),
                         cl::value_desc("number"), cl::init(1), cl::cat(category)};
  TextFlag outputs{"outputs", cl::desc("Where to write the outputs of the last run"), cl::value_desc("file"),
                   cl::cat(category)};
  TextFlag saveParams{"save-params", cl::desc("Where to write the parameters afterwards"), cl::value_desc("file"),
                      cl::cat(category)};
  TextFlag saveState{"save-state", cl::desc("Where to write parameters and optimizer state, to go on with --params"),
                     cl::value_desc("file"), cl::cat(category)};
  TextFlag dumpValues{"dump-values",
                      cl::desc("Print the values whose name, command or location matches a glob: 'layers.0.*'"),
                      cl::value_desc("pattern"), cl::cat(category)};
  cl::opt<bool> checkNaN{"check-nan", cl::desc("Stop at the first command that writes a NaN, and name it"),
                         cl::cat(category)};
  cl::opt<bool> poisonMemory{"poison-memory",
                             cl::desc("Fill inputs, outputs and workspaces with NaN before each step, so that reads of "
                                      "unwritten memory show"),
                             cl::cat(category)};
  cl::opt<bool> profile{"profile",
                        cl::desc("Print where the time goes over all steps: command by command on the CPU, kernel by "
                                 "kernel on a GPU"),
                        cl::cat(category)};
  cl::opt<int> numThreads{"num-threads", cl::desc("Threads of one command; 0 is one a core (default)"),
                          cl::value_desc("number"), cl::init(0), cl::cat(category)};
  DeviceFlag device{category, cl::SubCommand::getTopLevel()};
  cl::OptionCategory compileCategory{"Compiling (of IR)"};
  CompileFlags compile{compileCategory, cl::SubCommand::getTopLevel()};
};

/// The steps of a run of the tool; each returns its error.
class Runner {
public:
  explicit Runner(const Flags &flags) : flags(flags) {}
  absl::Status run();

private:
  absl::Status checkFlags();
  absl::Status load();
  absl::Status runSteps();
  absl::Status save();
  absl::Status printOutputs(int64_t step);

  const Flags &flags;
  std::unique_ptr<RunProfiler> profiler; // Null unless asked for.
  std::unique_ptr<Session> session;
  const format::EntryT *entry = nullptr;
  TensorMap inputs;
};

} // namespace

/// Rejects outputs before a long run that could not be written after it.
static absl::Status checkOutputPath(const std::string &path) {
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (extension != ".npy" && extension != ".npz" && extension != ".safetensors")
    return absl::InvalidArgumentError(absl::StrCat(path, ": must end in .npy, .npz or .safetensors"));
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (std::error_code error = llvm::sys::fs::access(folder.empty() ? "." : folder, llvm::sys::fs::AccessMode::Write))
    return absl::PermissionDeniedError(absl::StrCat(path, ": cannot be written: ", error.message()));
  return absl::OkStatus();
}

absl::Status Runner::checkFlags() {
  if (absl::Status status = flags.compile.check(flags.device); !status.ok())
    return status;
  if (flags.steps < 1)
    return absl::InvalidArgumentError(absl::StrCat("--steps is ", flags.steps.getValue(), ", must be positive"));
  if (flags.numThreads < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--num-threads is ", flags.numThreads.getValue(), ", must not be negative"));
  if (flags.randomInputs && !flags.inputs.empty())
    return absl::InvalidArgumentError("--inputs and --random-inputs exclude each other");
  for (const std::string *path : {&flags.outputs.getValue(), &flags.saveParams.getValue(), &flags.saveState.getValue()})
    if (!path->empty())
      if (absl::Status status = checkOutputPath(*path); !status.ok())
        return status;
  return flags.compile.checkOutputs({{"--outputs", flags.outputs.getValue()},
                                     {"--save-params", flags.saveParams.getValue()},
                                     {"--save-state", flags.saveState.getValue()}});
}

absl::Status Runner::load() {
  absl::StatusOr<LoadedProgram> program = flags.compile.compile(
      flags.device, [&](const CompileOptions &options) { return loadProgram(flags.program, options); });
  if (!program.ok())
    return program.status();
  if (!program->wasCompiled)
    if (absl::Status status =
            refuseFlags(flags.compileCategory, cl::SubCommand::getTopLevel(),
                        flags.program + " is compiled already; it is a flag of cs336-translate --emit-executable too");
        !status.ok())
      return status;
  absl::StatusOr<const format::EntryT *> found = findEntry(*program->executable, flags.entry);
  if (!found.ok())
    return found.status();
  entry = *found;

  absl::StatusOr<TensorMap> tensors =
      flags.randomInputs ? makeRandomInputs(*entry, flags.seed) : readInputs(*entry, flags.inputs);
  if (!tensors.ok())
    return tensors.status();
  inputs = *std::move(tensors);

  if (flags.profile) {
    absl::StatusOr<std::unique_ptr<RunProfiler>> made = RunProfiler::create(flags.device);
    if (!made.ok())
      return absl::Status(made.status().code(), absl::StrCat("--profile: ", made.status().message()));
    profiler = *std::move(made);
  }
  SessionOptions options;
  options.device = ToString(flags.device);
  options.num_threads = flags.numThreads;
  options.poison_memory = flags.poisonMemory;
  absl::StatusOr<std::unique_ptr<Session>> created = Session::Create(std::move(program->executable), options);
  if (!created.ok())
    return created.status();
  session = *std::move(created);
  if (absl::Status status = session->InitializeVariables(flags.seed); !status.ok() || flags.params.empty())
    return status;

  absl::StatusOr<TensorMap> parameters = ReadTensors(flags.params);
  if (!parameters.ok())
    return parameters.status();
  LoadOptions load;
  auto isState = [&](const auto &variable) {
    return variable->kind == format::VariableKind::state && parameters->contains(variable->name);
  };
  bool hasState = llvm::any_of(session->executable().variables(), isState);
  load.set = hasState ? VariableSet::kParametersAndState : VariableSet::kParameters;
  if (absl::Status status = session->LoadVariables(*parameters, load); !status.ok())
    return absl::Status(status.code(), absl::StrCat(flags.params.getValue(), ": ", status.message()));
  absl::StatusOr<FileNotes> notes = ReadNotes(flags.params);
  if (!notes.ok())
    return notes.status();
  if (std::string reason = ExplainOtherBits(*notes, *session); hasState && !reason.empty())
    llvm::WithColor::note(llvm::errs(), "cs336-run") << flags.params << ": " << reason << "\n";
  return absl::OkStatus();
}

absl::Status Runner::printOutputs(int64_t step) {
  bool isLast = step + 1 == flags.steps;
  if (flags.steps > 1)
    llvm::outs() << "step " << step + 1 << "\n";
  for (const auto &output : entry->outputs) {
    // Prints only losses and norms for the steps between the first and the last.
    if (!isLast && !output->type->shape.empty())
      continue;
    absl::StatusOr<TensorView> value = session->Output(entry->name, output->name);
    if (!value.ok())
      return value.status();
    absl::StatusOr<std::string> summary = summarize(*value);
    if (!summary.ok())
      return summary.status();
    llvm::outs() << "  " << output->name << " " << *summary << "\n";
  }
  return absl::OkStatus();
}

absl::Status Runner::runSteps() {
  ObserverList observers;
  NanCheck nanCheck;
  std::optional<ValueDump> dump;
  if (!flags.dumpValues.empty()) {
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(flags.dumpValues);
    if (!pattern)
      return absl::InvalidArgumentError(absl::StrCat("--dump-values: ", llvm::toString(pattern.takeError())));
    observers.add(dump.emplace(*std::move(pattern), llvm::outs()));
  }
  if (flags.checkNaN)
    observers.add(nanCheck);
  if (profiler) {
    if (RunObserver *observer = profiler->getObserver())
      observers.add(*observer);
    if (absl::Status status = profiler->start(*session); !status.ok())
      return status;
  }

  std::vector<NamedTensor> arguments = asArguments(inputs);
  for (int64_t step = 0; step < flags.steps; ++step) {
    if (absl::Status status = session->Run(entry->name, arguments, observers.empty() ? nullptr : &observers);
        !status.ok())
      return status;
    if (absl::Status status = printOutputs(step); !status.ok())
      return status;
  }
  if (profiler) {
    absl::StatusOr<RunProfile> profile = profiler->stop(*session);
    if (!profile.ok())
      return profile.status();
    bench::Table table = bench::makeProfileTable("profile", "all: " + bench::describeTotal(*profile), *profile);
    bench::ReportWriter::create(bench::Format::Table)->write({{}, {std::move(table)}, {}}, llvm::outs());
  }
  if (dump && dump->getNumPrinted() == 0)
    return absl::NotFoundError(absl::StrCat("no value, command or location of '", entry->name, "' matches '",
                                            flags.dumpValues.getValue(), "'; '*' prints all"));
  return absl::OkStatus();
}

absl::Status Runner::save() {
  if (!flags.outputs.empty()) {
    TensorMap outputs;
    for (const auto &port : entry->outputs) {
      for (const NamedRows &rows : CheckpointNames(port->name, ToTensorType(*port->type), port->views)) {
        absl::StatusOr<TensorView> value = session->Output(entry->name, rows.name);
        if (!value.ok())
          return value.status();
        absl::StatusOr<Tensor> copy = Tensor::CopyOf(*value);
        if (!copy.ok())
          return copy.status();
        outputs.emplace(rows.name, *std::move(copy));
      }
    }
    if (absl::Status status = WriteTensors(flags.outputs, outputs); !status.ok())
      return status;
  }
  for (auto [path, set] : {std::pair(&flags.saveParams.getValue(), VariableSet::kParameters),
                           std::pair(&flags.saveState.getValue(), VariableSet::kParametersAndState)}) {
    if (path->empty())
      continue;
    if (absl::Status status = SaveCheckpoint(*session, *path, set); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status Runner::run() {
  for (absl::Status (Runner::*step)() : {&Runner::checkFlags, &Runner::load, &Runner::runSteps, &Runner::save})
    if (absl::Status status = (this->*step)(); !status.ok())
      return status;
  llvm::errs() << "next: "
               << (entry->mode == format::Mode::train
                       ? "--steps 10 shows the loss fall; --save-params FILE.safetensors saves the trained parameters\n"
                       : "--dump-values '*' shows every value; --outputs FILE.npz keeps the results\n");
  return absl::OkStatus();
}

static int runTool(int argc, char **argv) {
  registerPasses();
  Flags flags;
  hideOtherFlags({&flags.category, &flags.compileCategory});
  cl::ParseCommandLineOptions(argc, argv, kOverview);
  absl::Status status = Runner(flags).run();
  if (status.ok())
    return 0;
  llvm::outs().flush();
  llvm::WithColor::error(llvm::errs(), "cs336-run") << std::string(status.message()) << "\n";
  return 1;
}

int main(int argc, char **argv) {
  return toolMain(argc, argv, [&] { return runTool(argc, argv); });
}
