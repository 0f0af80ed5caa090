//===- cs336-translate.cpp - From and to what is not IR -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Diagnostics/PositionHandler.h"
#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/Exec/IR/ExecDialect.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Flags/ModelFlags.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Driver/Tool/ToolMain.h"
#include "cs336/Frontend/ImportTransformer.h"
#include "cs336/Support/Nesting.h"
#include "cs336/Support/ReadInput.h"
#include "cs336/Support/WriteOutput.h"
#include "cs336/Target/CUDA/EmitCUDA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

#include <optional>

using namespace mlir;
namespace cl = llvm::cl;

static constexpr llvm::StringLiteral kOverview =
    R"(Translates model descriptions to IR, and IR to executables and CUDA text

A Transformer from a named size, from flags, or from JSON (flags replace its keys); default mode: train:
  cs336-translate --import-transformer --size small --context-length 256 -o small.mlir
  cs336-translate --import-transformer --d-model 512 --d-ff 1344 --num-layers 4 --num-heads 16
  cs336-translate --import-transformer model.json --batch-size 1 --mode loss
where model.json is, for example,
  {"size": "tiny", "context_length": 64, "optimizer": {"lr": 3e-4, "max_norm": 1.0}}

An executable, of IR in any phase, which cs336-run runs; compiling for GPUs needs none:
  cs336-translate --emit-executable small.mlir -o small.cs336x
  cs336-translate --emit-executable small.mlir --device cuda --arch sm_80,sm_90a -o small.cs336x
CUDA C++ of the kernels of exec IR:
  cs336-translate --emit-cuda small-exec.mlir -o kernels.cu
)";

namespace {

enum class Action { ImportTransformer, EmitExecutable, EmitCUDA };

struct Flags {
  cl::OptionCategory category{"Translation"};
  cl::OptionCategory modelCategory{"The model (--import-transformer)"};
  cl::list<Action> actions{
      cl::desc("What to do:"),
      cl::values(clEnumValN(Action::ImportTransformer, "import-transformer",
                            "Build a Transformer's IR from flags, or from a JSON description"),
                 clEnumValN(Action::EmitExecutable, "emit-executable", "Compile IR to an executable"),
                 clEnumValN(Action::EmitCUDA, "emit-cuda", "Write exec IR's kernels as CUDA C++")),
      cl::cat(category)};
  cl::opt<std::string> input{cl::Positional, cl::desc("[input file, - is standard input]"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Where to write, - is standard output"), cl::value_desc("file"),
                              cl::init("-"), cl::cat(category)};
  cl::OptionCategory compileCategory{"Compiling (--emit-executable)"};
  cs336::DeviceFlag device{compileCategory, cl::SubCommand::getTopLevel()};
  cl::opt<int> ranks{"ranks", cl::desc("Number of ranks that run the program together (default 1)"),
                     cl::value_desc("number"), cl::init(1), cl::cat(compileCategory)};
  cs336::DistributeFlags distribute{ranks, compileCategory, cl::SubCommand::getTopLevel()};
  cs336::CompileFlags compile{compileCategory, cl::SubCommand::getTopLevel(), cs336::CompileFlags::Sweep::No,
                              &distribute};
  cl::OptionCategory cudaCategory{"CUDA text (--emit-cuda)"};
  cl::opt<bool> requireAll{"require-all", cl::desc("Fail if there is a kernel that no schedule accepts"),
                           cl::cat(cudaCategory)};
  cs336::ModelFlags model{modelCategory, cl::SubCommand::getTopLevel()};
};

} // namespace

/// Writes `path` as a whole or not at all.
static LogicalResult write(StringRef path, llvm::function_ref<void(raw_ostream &)> print) {
  llvm::Error error = cs336::writeOutput(path, [&](raw_ostream &stream) {
    print(stream);
    return llvm::Error::success();
  });
  if (!error)
    return success();
  llvm::WithColor::error(llvm::errs()) << "cannot write '" << path << "': " << llvm::toString(std::move(error)) << "\n";
  return failure();
}

static FailureOr<cs336::ModelDescription> describeModel(const Flags &flags) {
  cs336::ModelDescription description;
  auto fail = [](StringRef where, llvm::Error error) {
    llvm::WithColor::error(llvm::errs()) << where << llvm::toString(std::move(error)) << "\n";
    return failure();
  };
  if (!flags.input.empty()) {
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file = cs336::readInput(flags.input);
    if (!file)
      return fail("", file.takeError());
    llvm::Expected<cs336::ModelDescription> read = cs336::ModelDescription::fromJSON((*file)->getBuffer());
    if (!read)
      return fail(flags.input + ": ", read.takeError());
    description = *read;
  }
  llvm::Expected<cs336::ModelDescription> complete = flags.model.applyOne(description);
  if (!complete)
    return fail("", complete.takeError());
  return *complete;
}

static LogicalResult importTransformer(const Flags &flags, MLIRContext &context) {
  FailureOr<cs336::ModelDescription> description = describeModel(flags);
  if (failed(description))
    return failure();
  context.loadDialect<cs336::CS336Dialect, func::FuncDialect>();
  Location loc = flags.input.empty() ? Location(UnknownLoc::get(&context))
                                     : Location(FileLineColLoc::get(&context, flags.input, 0, 0));
  FailureOr<OwningOpRef<ModuleOp>> module = cs336::importTransformer(*description, loc);
  if (failed(module))
    return failure();
  return write(flags.output, [&](raw_ostream &stream) { (*module)->print(stream); });
}

namespace {
/// IR as the tool read it. The sources outlive the module, whose diagnostics quote them.
struct InputModule {
  llvm::SourceMgr sources;
  std::optional<SourceMgrDiagnosticHandler> printer;
  std::optional<cs336::PositionHandler> positions;
  OwningOpRef<ModuleOp> module;
};
} // namespace

/// Returns the module in the input file, or null after printing an error.
static std::unique_ptr<InputModule> readModule(const Flags &flags, MLIRContext &context) {
  std::string path = flags.input.empty() ? "-" : flags.input.getValue();
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file = cs336::readInput(path);
  if (!file) {
    llvm::WithColor::error(llvm::errs()) << llvm::toString(file.takeError()) << "\n";
    return nullptr;
  }
  if (llvm::Error error = cs336::checkIsReadableIR((*file)->getMemBufferRef())) {
    llvm::WithColor::error(llvm::errs()) << llvm::toString(std::move(error)) << "\n";
    return nullptr;
  }
  auto input = std::make_unique<InputModule>();
  input->sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  input->printer.emplace(input->sources, &context);
  input->positions.emplace(input->sources, &context);
  input->module = parseSourceFile<ModuleOp>(input->sources, &context);
  return input->module ? std::move(input) : nullptr;
}

static LogicalResult emitExecutable(const Flags &flags, MLIRContext &context) {
  absl::Status status = flags.compile.check(flags.device);
  if (!flags.distribute.areGiven())
    status.Update(cs336::refuseFlag(flags.ranks, "it requires --distribute"));
  status.Update(flags.compile.checkOutputs({{"-o", flags.output.getValue()}}));
  if (!status.ok()) {
    llvm::WithColor::error(llvm::errs()) << std::string(status.message()) << "\n";
    return failure();
  }
  std::unique_ptr<InputModule> input = readModule(flags, context);
  if (!input)
    return failure();
  FailureOr<std::vector<uint8_t>> bytes =
      flags.compile.compile(flags.device, [&](const cs336::CompileOptions &options) {
        return cs336::compileModule(*input->module, options);
      });
  if (failed(bytes))
    return failure();
  return write(flags.output, [&](raw_ostream &stream) { stream << llvm::toStringRef(*bytes); });
}

static LogicalResult emitCUDA(const Flags &flags, MLIRContext &context) {
  std::unique_ptr<InputModule> input = readModule(flags, context);
  if (!input)
    return failure();
  ModuleOp module = *input->module;
  bool isExec =
      llvm::any_of(module.getOps(), [](Operation &op) { return isa<cs336::exec::ExecDialect>(op.getDialect()); });
  if (!isExec)
    return emitError(module.getLoc(), "holds no exec IR: run cs336-opt --cs336-pipeline first");
  std::string text;
  llvm::raw_string_ostream stream(text);
  cs336::CUDAOptions options;
  options.requireAll = flags.requireAll;
  if (failed(cs336::emitCUDA(module, stream, options)))
    return failure();
  return write(flags.output, [&](raw_ostream &stream) { stream << text; });
}

/// Returns an error if a flag of another action is given.
static absl::Status refuseOtherFlags(const Flags &flags, Action action) {
  struct Owner {
    Action action;
    const cl::OptionCategory &category;
    llvm::StringLiteral reason;
  };
  const Owner owners[] = {
      {Action::ImportTransformer, flags.modelCategory, "it requires --import-transformer; the IR has its sizes"},
      {Action::EmitExecutable, flags.compileCategory,
       "it requires --emit-executable; cs336-opt --cs336-pipeline has its own options"},
      {Action::EmitCUDA, flags.cudaCategory, "it requires --emit-cuda"}};
  for (const Owner &owner : owners)
    if (owner.action != action)
      if (absl::Status status = cs336::refuseFlags(owner.category, cl::SubCommand::getTopLevel(), owner.reason);
          !status.ok())
        return status;
  return absl::OkStatus();
}

static LogicalResult run(const Flags &flags, MLIRContext &context) {
  if (flags.actions.size() != 1) {
    llvm::WithColor::error(llvm::errs())
        << "give one of --import-transformer, --emit-executable and --emit-cuda; --help has examples\n";
    return failure();
  }
  if (absl::Status status = refuseOtherFlags(flags, flags.actions.front()); !status.ok()) {
    llvm::WithColor::error(llvm::errs()) << std::string(status.message()) << "\n";
    return failure();
  }
  switch (flags.actions.front()) {
  case Action::ImportTransformer:
    return importTransformer(flags, context);
  case Action::EmitExecutable:
    return emitExecutable(flags, context);
  case Action::EmitCUDA:
    return emitCUDA(flags, context);
  }
  llvm_unreachable("all actions are handled");
}

static int translate(int argc, char **argv) {
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  cs336::printLocationsByDefault();
  Flags flags;
  cs336::hideOtherFlags({&flags.category, &flags.modelCategory, &flags.compileCategory, &flags.cudaCategory});
  cl::ParseCommandLineOptions(argc, argv, kOverview);

  cs336::registerPasses();
  DialectRegistry registry;
  cs336::registerDialects(registry);
  MLIRContext context(registry);
  return failed(run(flags, context));
}

int main(int argc, char **argv) {
  return cs336::toolMain(argc, argv, [&] { return translate(argc, argv); });
}
