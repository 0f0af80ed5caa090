//===- EmitExecutable.cpp - Planned exec IR as an executable file -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/Executable/EmitExecutable.h"

#include "EntryEmitter.h"
#include "cs336/Target/Executable/FormatTypes.h"
#include "cs336/Target/Executable/KernelSignatures.h"
#include "cs336/runtime/format/ExecutableFile.h"
#include "cs336/runtime/format/Limits.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static_assert(VariableOp::kPartAlignment % format::kPartAlignment == 0);

/// Describes a variable. The executable has the type of the whole variable, and the number of its shards.
static std::unique_ptr<format::VariableT> describe(VariableOp variable) {
  auto described = std::make_unique<format::VariableT>();
  described->name = variable.getSymName().str();
  described->kind = toFormat(variable.getKind());
  described->type = toFormat(variable.getBufferType());
  described->shards = variable.getNumShards();
  described->gathered = variable.getGathered();
  if (described->shards > 1)
    described->type->shape[0] *= described->shards; // Verified: at most 2^48 bytes.
  described->views = toFormat(variable.getViewsAttr());
  described->init = toFormat(variable.getInitAttr(), variable.getKind());
  described->location = printLocation(variable.getLoc());
  return described;
}

/// Returns the kernel's operations as readable text.
static std::string getText(KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().enableDebugInfo(false).useLocalScope().elideLargeElementsAttrs());
  return text;
}

static std::unique_ptr<format::FunctionT> describe(const KernelFunction &function) {
  auto described = std::make_unique<format::FunctionT>();
  described->symbol = function.symbol;
  described->blocks = function.blocks;
  described->threads = function.threads;
  described->shared_bytes = function.sharedBytes;
  described->cluster = function.cluster;
  for (const TensorMapRecipe &map : function.tensorMaps)
    described->tensor_maps.push_back(toFormat(map));
  return described;
}

static std::unique_ptr<format::ImplementationT> describe(const KernelImplementation &implementation) {
  auto described = std::make_unique<format::ImplementationT>();
  described->objects.assign(implementation.objects.begin(), implementation.objects.end());
  for (const KernelFunction &function : implementation.functions)
    described->functions.push_back(describe(function));
  described->workspace_bytes = implementation.workspaceBytes;
  described->text = implementation.text;
  return described;
}

static std::unique_ptr<format::KernelT> describe(KernelOp kernel, const CompiledKernel &compiled,
                                                 const KernelSignatures &signatures) {
  auto described = std::make_unique<format::KernelT>();
  described->name = kernel.getSymName().str();
  described->comment = getText(kernel);
  for (const KernelImplementation &implementation : compiled.implementations)
    described->implementations.push_back(describe(implementation));
  described->signature = signatures.describe(kernel, compiled);
  return described;
}

static std::unique_ptr<format::CodeObjectT> describe(const CodeObject &object) {
  auto described = std::make_unique<format::CodeObjectT>();
  described->target = object.target;
  described->features = object.features;
  described->image = object.image;
  return described;
}

/// Returns the number of shards of the program's sharded variables, or nullopt if it has none.
static FailureOr<std::optional<int64_t>> getNumShards(ModuleOp module) {
  VariableOp first;
  for (auto variable : module.getOps<VariableOp>()) {
    if (variable.getNumShards() == 1)
      continue;
    if (!first)
      first = variable;
    if (variable.getNumShards() == first.getNumShards())
      continue;
    InFlightDiagnostic diagnostic = variable.emitOpError()
                                    << "has " << variable.getNumShards()
                                    << " shards, but all sharded variables of a program must have as many";
    diagnostic.attachNote(first.getLoc()) << "this one has " << first.getNumShards();
    return failure();
  }
  return first ? std::optional(first.getNumShards()) : std::nullopt;
}

/// Requires that each buffer with a part for each rank has one for each of these ranks.
static LogicalResult checkParts(ModuleOp module, int64_t ranks) {
  WalkResult result = module.walk([&](exec::PartOp part) {
    if (part.getNumParts() == ranks)
      return WalkResult::advance();
    part.emitOpError() << "has " << part.getNumParts() << " parts, but " << ranks << " ranks run the program";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Returns the number of ranks that run the program: the group of its collectives and the number of shards of its
/// variables, or 1 if it has neither.
static FailureOr<int64_t> getWorldSize(ModuleOp module) {
  FailureOr<std::optional<int64_t>> shards = getNumShards(module);
  if (failed(shards))
    return failure();
  exec::CollectiveOp first;
  WalkResult result = module.walk([&](exec::CollectiveOp collective) {
    if (!first)
      first = collective;
    if (collective.getGroup() == first.getGroup())
      return WalkResult::advance();
    InFlightDiagnostic diagnostic = collective.emitOpError()
                                    << "has group " << static_cast<int64_t>(collective.getGroup())
                                    << ", but all collectives of a program must have one group";
    diagnostic.attachNote(first.getLoc()) << "this one has group " << static_cast<int64_t>(first.getGroup());
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  if (!first) {
    int64_t ranks = shards->value_or(1);
    if (failed(checkParts(module, ranks)))
      return failure();
    return ranks;
  }
  int64_t group = static_cast<int64_t>(first.getGroup());
  if (failed(checkParts(module, group)))
    return failure();
  if (*shards && **shards != group)
    return first.emitOpError() << "has group " << group << ", but the program's variables have " << **shards
                               << " shards, one per rank";
  return group;
}

/// Returns a hash of a program without its code objects, which depend on the host, and without source locations, which
/// depend on where its file lies. Kernels count by their operations.
static uint64_t hashProgram(format::ExecutableT program) {
  auto clear = [](auto &located) {
    for (auto &each : located)
      each->location.clear();
  };
  clear(program.variables);
  for (auto &entry : program.entries) {
    clear(entry->inputs);
    clear(entry->buffers);
    clear(entry->allocations);
    clear(entry->commands);
  }
  std::string bytes = format::Serialize(program);
  return llvm::xxh3_64bits(StringRef(bytes));
}

/// Describes everything but the kernels. `symbols` has the indices of the kernels, and receives those of variables.
static FailureOr<format::ExecutableT> describe(ModuleOp module, EmittedSymbols &symbols) {
  format::ExecutableT executable;
  executable.target = symbols.target == Target::CUDA ? format::Target::cuda : format::Target::cpu;
  FailureOr<int64_t> worldSize = getWorldSize(module);
  if (failed(worldSize))
    return failure();
  executable.world_size = *worldSize;
  for (auto variable : module.getOps<VariableOp>()) {
    symbols.variables[variable.getSymName()] = executable.variables.size();
    executable.variables.push_back(describe(variable));
  }
  for (auto entry : module.getOps<EntryOp>()) {
    auto described = EntryEmitter(entry, symbols).emit();
    if (failed(described))
      return failure();
    executable.entries.push_back(std::move(*described));
  }
  if (executable.entries.empty())
    return module.emitError() << "has no exec.entry: run --convert-cs336-to-exec before emitting an executable";
  return executable;
}

FailureOr<format::ExecutableT> cs336::describeProgram(ModuleOp module, Target target) {
  EmittedSymbols symbols{{}, {}, target, nullptr, nullptr};
  std::vector<std::unique_ptr<format::KernelT>> kernels;
  for (auto kernel : module.getOps<KernelOp>()) {
    symbols.kernels[kernel.getSymName()] = kernels.size();
    kernels.push_back(std::make_unique<format::KernelT>());
    kernels.back()->name = kernel.getSymName().str();
  }
  FailureOr<format::ExecutableT> executable = describe(module, symbols);
  if (succeeded(executable))
    executable->kernels = std::move(kernels);
  return executable;
}

FailureOr<std::vector<uint8_t>> cs336::emitExecutable(ModuleOp module, const CompiledKernels &compiled) {
  KernelSignatures signatures(module);
  EmittedSymbols symbols{{}, {}, compiled.target, &compiled.kernels, &signatures};
  std::vector<std::unique_ptr<format::KernelT>> kernels;
  for (auto kernel : module.getOps<KernelOp>()) {
    auto found = compiled.kernels.find(kernel.getSymName());
    if (found == compiled.kernels.end())
      continue; // Not an error if no command launches it.
    symbols.kernels[kernel.getSymName()] = kernels.size();
    kernels.push_back(describe(kernel, found->second, signatures));
  }
  FailureOr<format::ExecutableT> executable = describe(module, symbols);
  if (failed(executable))
    return failure();
  executable->kernels = std::move(kernels);
  executable->program_hash = hashProgram(*executable);
  executable->producer = "cs336-opt " CS336_VERSION;
  for (const CodeObject &object : compiled.objects)
    executable->objects.push_back(describe(object));
  std::string bytes = format::Serialize(*executable);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}
