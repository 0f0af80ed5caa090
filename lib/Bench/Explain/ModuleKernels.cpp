//===- ModuleKernels.cpp - Kernels of a program in IR ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Explain/ModuleKernels.h"

#include "cs336/Dialect/Exec/IR/CommandSource.h"
#include "cs336/Driver/Compile/Autotuner.h"
#include "cs336/Target/CPU/CPUTarget.h"
#include "cs336/Target/CPU/Passes.h"
#include "cs336/Target/CUDA/CUDATarget.h"
#include "cs336/Target/CUDA/EmitCUDA.h"
#include "cs336/Target/Executable/FormatTypes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

static TimingScope nestScope(const CompileOptions &options, StringRef name) {
  return options.timing ? options.timing->nest(name) : TimingScope();
}

//===----------------------------------------------------------------------===//
// Operations and launches
//===----------------------------------------------------------------------===//

static Listing printOperations(exec::KernelOp kernel) {
  Listing listing{"operations", "mlir", ""};
  llvm::raw_string_ostream stream(listing.text);
  kernel->print(stream, OpPrintingFlags().enableDebugInfo().useLocalScope());
  stream << "\n";
  return listing;
}

/// Returns text that is equal for commands of one name that differ only in their layer and entry.
static std::string getShape(exec::CommandOpInterface command) {
  std::string shape = command.getCommandName();
  llvm::raw_string_ostream stream(shape);
  stream << " " << exec::stringifyCommandPhase(command.getPhase());
  for (Type type : command->getOperandTypes())
    stream << " " << type;
  return shape;
}

/// Adds the launches of all entries and their work, and the IR of commands that have no kernel.
static void addLaunches(ModuleOp module, const DeviceModel &device, llvm::StringMap<KernelFacts *> &kernels) {
  llvm::StringSet<> printed;
  for (auto entry : module.getOps<exec::EntryOp>()) {
    exec::WorkCounter counter(entry);
    std::optional<AsmState> names;
    for (auto command : entry.getBody().getOps<exec::CommandOpInterface>()) {
      KernelFacts *facts = kernels.lookup(command.getCommandName());
      if (!facts)
        continue;
      facts->addWork(counter.measure(command), toFormat(counter.getArithmetic(command)), device);
      facts->addLaunch(entry.getSymName(), exec::stringifyCommandPhase(command.getPhase()),
                       exec::getSourcePath(command->getLoc()), exec::printLocation(command->getLoc()));
      if (isa<exec::LaunchOp>(command) || !printed.insert(getShape(command)).second)
        continue;
      if (!names)
        names.emplace(entry, OpPrintingFlags().enableDebugInfo().useLocalScope());
      llvm::raw_string_ostream stream(facts->operations.text);
      command->print(stream, *names);
      stream << "\n";
    }
  }
}

/// Returns kernels, and then the names of GEMMs and copies in order of first use.
static std::vector<KernelFacts> listCommands(ModuleOp module) {
  std::vector<KernelFacts> commands;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    commands.emplace_back().name = kernel.getSymName().str();
    commands.back().operations = printOperations(kernel);
  }
  llvm::StringSet<> known;
  for (auto entry : module.getOps<exec::EntryOp>())
    for (auto command : entry.getBody().getOps<exec::CommandOpInterface>()) {
      bool isGemm = isa<exec::GemmOp>(command);
      if ((!isGemm && !isa<exec::CopyOp>(command)) || !known.insert(command.getCommandName()).second)
        continue;
      commands.emplace_back().name = command.getCommandName();
      commands.back().kind = (isGemm ? kGemm : kCopy).str();
    }
  return commands;
}

/// Returns a copy of the module without the other kernels.
static OwningOpRef<ModuleOp> cloneWithKernels(ModuleOp module, const llvm::StringMap<KernelFacts *> &kernels) {
  OwningOpRef<ModuleOp> clone = module.clone();
  for (auto kernel : llvm::make_early_inc_range(clone->getOps<exec::KernelOp>()))
    if (!kernels.contains(kernel.getSymName()))
      kernel.erase();
  return clone;
}

//===----------------------------------------------------------------------===//
// CPU
//===----------------------------------------------------------------------===//

/// Adds the loops of each kernel, and the rows that threads share.
static LogicalResult addLoops(ModuleOp module, const CompileOptions &options, llvm::StringMap<KernelFacts *> &kernels) {
  OwningOpRef<ModuleOp> clone = cloneWithKernels(module, kernels);
  PassManager manager(module.getContext(), module.getOperationName());
  KernelsToCPUPassOptions passOptions;
  passOptions.cpuName = options.cpu;
  manager.addPass(createKernelsToCPUPass(passOptions));
  if (failed(manager.run(*clone)))
    return failure();
  for (auto &[name, pointer] : kernels) {
    auto function = clone->lookupSymbol<LLVM::LLVMFuncOp>(("cs336_" + name).str());
    if (!function)
      continue;
    KernelFacts &facts = *pointer;
    SmallVector<std::string> parameters;
    for (StringRef attribute : {"rows", "grain", "thread_bytes"})
      if (auto value = function->getAttrOfType<IntegerAttr>(attribute))
        parameters.push_back(absl::StrCat(attribute.str(), " = ", value.getInt()));
    facts.schedules.push_back({"cpu", "rows", "{" + llvm::join(parameters, ", ") + "}"});
    Listing &listing = facts.texts.emplace_back("text for the CPU, before LLVM", "mlir", "");
    llvm::raw_string_ostream stream(listing.text);
    function->print(stream, OpPrintingFlags().useLocalScope());
    stream << "\n";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// GPU
//===----------------------------------------------------------------------===//

static void addText(const cuda::CUDAImplementation &implementation, KernelFacts &facts) {
  std::string architectures = llvm::join(implementation.architectures, ", ");
  facts.texts.push_back({"text for " + architectures, "cuda", implementation.text});
  for (const cuda::SelectedSchedule &part : implementation.schedules) {
    std::string parameters;
    if (part.parameters)
      llvm::raw_string_ostream(parameters) << part.parameters;
    facts.schedules.push_back({architectures, part.name, parameters});
  }
  for (const std::string &architecture : implementation.architectures)
    for (const KernelFunction &function : implementation.functions)
      facts.functions.push_back({architecture, function, {}, {}, {}});
}

/// Adds registers and memory from the machine code.
static LogicalResult addResources(const Cubin &cubin, Location loc, KernelFacts &facts) {
  llvm::Expected<std::vector<CubinResources>> resources =
      readCubinResources({reinterpret_cast<const uint8_t *>(cubin.image.data()), cubin.image.size()});
  if (!resources)
    return emitError(loc) << "machine code of kernel '" << facts.name << "' for " << cubin.architecture << ": "
                          << llvm::toString(resources.takeError());
  for (FunctionFacts &function : facts.functions) {
    if (function.architecture != cubin.architecture)
      continue;
    for (const CubinResources &each : *resources)
      if (each.name == function.function.symbol)
        function.resources = each;
    for (const Cubin::Kernel &each : cubin.kernels)
      if (each.name == function.function.symbol)
        function.spilledBytes = each.spilledBytes;
    if (function.resources)
      addOccupancy(function);
  }
  return success();
}

static LogicalResult addTexts(ModuleOp module, const ModuleOptions &options, llvm::StringMap<KernelFacts *> &kernels,
                              ExplainedProgram &program, std::vector<CachedKernel> &compiled) {
  TimingScope scope = nestScope(options.compile, "kernels");
  OwningOpRef<ModuleOp> clone;
  if (!options.compilesAll)
    clone = cloneWithKernels(module, kernels);
  ModuleOp source = options.compilesAll ? module : *clone;
  TimingScope emitting = scope.nest("Write CUDA text");
  FailureOr<std::vector<cuda::CUDAKernel>> texts = emitCUDAKernels(source, options.compile.architectures);
  emitting.stop();
  if (failed(texts))
    return failure();
  for (const cuda::CUDAKernel &kernel : *texts)
    if (KernelFacts *facts = kernels.lookup(kernel.name))
      for (const cuda::CUDAImplementation &implementation : kernel.implementations)
        addText(implementation, *facts);
  if (llvm::Expected<NVRTC> compiler = NVRTC::load(); !compiler) {
    program.notes.push_back("no registers, shared memory and occupancy: " + llvm::toString(compiler.takeError()));
    return success();
  }
  FailureOr<std::vector<cuda::KernelCubin>> cubins = cuda::compileTexts(
      source, *texts, {options.compile.architectures, options.compile.cacheFolder, /*dumpDir=*/""}, &scope);
  if (failed(cubins))
    return failure();
  for (const cuda::KernelCubin &cubin : *cubins) {
    compiled.push_back({cubin.kernel->name, cubin.cubin.architecture, cubin.wasCached});
    if (KernelFacts *facts = kernels.lookup(cubin.kernel->name))
      if (failed(addResources(cubin.cubin, cubin.kernel->loc, *facts)))
        return failure();
  }
  return success();
}

LogicalResult bench::explainModule(ModuleOp module, const ModuleOptions &options, SelectKernels select,
                                   ExplainedProgram &program, std::vector<CachedKernel> &compiled,
                                   absl::Status &status) {
  FailureOr<CompileOptions> tuned = tuneSchedules(module, options.compile);
  if (failed(tuned) || failed(runPipeline(module, *tuned)))
    return failure();
  program.target = options.compile.target;
  for (auto entry : module.getOps<exec::EntryOp>())
    program.entries.push_back(entry.getSymName().str());
  program.kernels = listCommands(module);
  llvm::StringMap<KernelFacts *> kernels;
  if (status = selectCommands(program, select, kernels); !status.ok())
    return success();
  addLaunches(module, *options.device, kernels);
  if (options.compile.target == Target::CUDA)
    return addTexts(module, options, kernels, program, compiled);
  if (failed(addLoops(module, options.compile, kernels)))
    return failure();
  if (!options.compilesAll)
    return success();
  TimingScope scope = nestScope(options.compile, "kernels");
  return compileKernelsForCPU(module, {options.compile.cpu}, &scope);
}
