//===- EntryEmitter.cpp - One entry in terms of the file format -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryEmitter.h"

#include "cs336/Target/Executable/FormatTypes.h"
#include "cs336/runtime/format/Alignments.h"
#include "cs336/runtime/format/Limits.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

//===----------------------------------------------------------------------===//
// Ports and buffers
//===----------------------------------------------------------------------===//

const std::string &EntryEmitter::getText(Location loc) {
  auto [found, isNew] = locations.try_emplace(loc);
  if (isNew)
    found->second = printLocation(loc);
  return found->second;
}

void EntryEmitter::addInput(InputOp input) {
  auto port = std::make_unique<format::InputPortT>();
  port->name = input.getName().str();
  port->type = toFormat(input.getType());
  port->bound = input.getBound().value_or(0);
  port->location = getText(input.getLoc());
  inputs[input] = result->inputs.size();
  result->inputs.push_back(std::move(port));
}

void EntryEmitter::addOutput(OutputOp output) {
  auto port = std::make_unique<format::OutputPortT>();
  port->name = output.getName().str();
  port->type = toFormat(output.getType());
  port->views = toFormat(output.getViewsAttr());
  port->buffer = getBuffer(output.getResult());
  result->outputs.push_back(std::move(port));
}

static format::BufferSource getSource(BufferOpInterface storage) {
  switch (storage.getStorageKind()) {
  case StorageKind::Arena:
  case StorageKind::Output:
    return format::BufferSource::arena;
  case StorageKind::Variable:
    return cast<GetOp>(*storage).getGathered() ? format::BufferSource::gathered : format::BufferSource::variable;
  case StorageKind::Input:
    return format::BufferSource::input;
  }
  llvm_unreachable("unknown kind of storage");
}

uint32_t EntryEmitter::getAllocation(ArenaOpInterface storage) {
  auto [found, isNew] = allocations.try_emplace(storage, result->allocations.size());
  if (!isNew)
    return found->second;
  auto allocation = std::make_unique<format::AllocationT>();
  allocation->source = getSourcePath(storage->getLoc()).str();
  allocation->type = toFormat(storage.getBuffer().getType());
  allocation->byte_offset = static_cast<int64_t>(*storage.getOffset());
  allocation->byte_size = getStorageBytes(storage.getBuffer().getType());
  allocation->location = getText(storage->getLoc());
  result->allocations.push_back(std::move(allocation));
  return found->second;
}

uint32_t EntryEmitter::getBuffer(Value value) {
  auto [found, isNew] = buffers.try_emplace(value, result->buffers.size());
  if (!isNew)
    return found->second;
  BufferOpInterface storage = getStorage(value);
  BufferLayout layout(cast<MemRefType>(value.getType()));
  int64_t start = layout.offset * getElementBytes(layout.elementType);

  auto buffer = std::make_unique<format::BufferT>();
  buffer->name = getSourcePath(value.getLoc()).str();
  buffer->location = getText(value.getLoc());
  buffer->source = getSource(storage);
  buffer->byte_offset = start;
  buffer->byte_size = getStorageBytes(storage.getBuffer().getType()) - start;
  if (auto part = value.getDefiningOp<PartOp>()) {
    buffer->part_distance = part.getPartDistance();
    buffer->part_shift = static_cast<int64_t>(part.getShift());
  }
  buffer->dtype = toFormat(layout.elementType);
  buffer->shape.assign(layout.sizes.begin(), layout.sizes.end());
  buffer->strides.assign(layout.strides.begin(), layout.strides.end());
  if (auto planned = dyn_cast<ArenaOpInterface>(*storage)) {
    buffer->index = getAllocation(planned);
    buffer->byte_offset += *planned.getOffset();
  }
  if (auto output = dyn_cast<OutputOp>(*storage)) {
    buffer->name = output.getName().str();
  } else if (auto get = dyn_cast<GetOp>(*storage)) {
    buffer->index = symbols.variables.lookup(get.getVariable());
    buffer->name = get.getVariable().str();
  } else if (auto input = dyn_cast<InputOp>(*storage)) {
    buffer->index = inputs.lookup(input);
    buffer->name = input.getName().str();
  }
  result->buffers.push_back(std::move(buffer));
  return found->second;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

format::LaunchT EntryEmitter::describe(LaunchOp launch) {
  format::LaunchT body;
  const CompiledKernel *kernel = symbols.findCompiled(launch);
  body.kernel = symbols.kernels.at(launch.getKernel());
  if (kernel) {
    body.rows = kernel->rows;
    body.grain = kernel->grain;
    body.thread_bytes = kernel->threadBytes;
    body.variant = symbols.signatures->getVariant(launch);
  }
  for (Value input : launch.getInputs())
    body.operands.push_back(getBuffer(input));
  for (Value output : launch.getOutputs()) {
    body.writes.push_back(body.operands.size());
    body.operands.push_back(getBuffer(output));
  }
  // A kernel that does not use a workspace has no parameter for it.
  if (Value workspace = launch.getWorkspace(); workspace && (!kernel || kernel->getWorkspaceBytes() != 0))
    body.workspace = getBuffer(workspace);
  return body;
}

format::GemmT EntryEmitter::describe(GemmOp gemm) {
  format::GemmT body;
  body.a = getBuffer(gemm.getLhs());
  body.b = getBuffer(gemm.getRhs());
  body.c = getBuffer(gemm.getOutput());
  body.precision = toFormat(gemm.getPrecision());
  if (Value addend = gemm.getAddend())
    body.addend = getBuffer(addend);
  if (Value bias = gemm.getBias())
    body.bias = getBuffer(bias);
  body.relu = gemm.getRelu();
  if (Value workspace = gemm.getWorkspace())
    body.workspace = getBuffer(workspace);
  return body;
}

format::CopyT EntryEmitter::describe(CopyOp copy) {
  format::CopyT body;
  body.src = getBuffer(copy.getSource());
  body.dst = getBuffer(copy.getTarget());
  return body;
}

format::CheckBoundT EntryEmitter::describe(exec::CheckBoundOp check) {
  format::CheckBoundT body;
  body.src = getBuffer(check.getSource());
  body.dst = getBuffer(check.getTarget());
  body.bound = check.getBound();
  return body;
}

format::CollectiveT EntryEmitter::describe(exec::CollectiveOp collective) {
  format::CollectiveT body;
  body.kind = toFormat(collective.getKind());
  if (std::optional<CollectiveReduction> reduction = collective.getReduction())
    body.reduction = toFormat(*reduction);
  for (Value source : collective.getSources())
    body.sources.push_back(getBuffer(source));
  for (Value target : collective.getTargets())
    body.targets.push_back(getBuffer(target));
  body.root = collective.getRoot().value_or(0);
  body.others = collective.getOthers();
  return body;
}

format::RecordT EntryEmitter::describe(RecordOp record) {
  format::RecordT body;
  body.event = events.try_emplace(record.getEvent(), events.size()).first->second;
  return body;
}

format::WaitT EntryEmitter::describe(WaitOp wait) {
  format::WaitT body;
  body.event = events.lookup(wait.getEvent());
  return body;
}

void EntryEmitter::addCommand(CommandOpInterface command) {
  auto described = std::make_unique<format::CommandT>();
  described->stream = streams.try_emplace(command.getStream(), streams.size()).first->second;
  described->name = command.getCommandName();
  described->source = getSourcePath(command->getLoc()).str();
  described->phase = toFormat(command.getPhase());
  described->location = getText(command->getLoc());
  Work work = counter.measure(command);
  described->flops = work.flops;
  described->bytes = work.bytes;
  if (work.flops != 0)
    described->arithmetic = toFormat(counter.getArithmetic(command));
  TypeSwitch<Operation *>(command)
      .Case<LaunchOp, GemmOp, CopyOp, exec::CheckBoundOp, exec::CollectiveOp, RecordOp, WaitOp>(
          [&](auto op) { described->body.Set(describe(op)); })
      .Default([](Operation *) { llvm_unreachable("a command that the format does not have"); });
  result->commands.push_back(std::move(described));
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

LogicalResult EntryEmitter::verifyOffset(Operation *command, Value buffer, int64_t alignment) {
  auto place = dyn_cast<ArenaOpInterface>(*getStorage(buffer));
  if (!place)
    return success();
  BufferLayout layout(cast<MemRefType>(buffer.getType()));
  int64_t offset = *place.getOffset() + layout.offset * getElementBytes(layout.elementType);
  if (offset % alignment == 0)
    return success();
  InFlightDiagnostic diagnostic = command->emitOpError()
                                  << "uses byte " << offset << " of the arena, and must use a "
                                  << "multiple of " << alignment << ": run --exec-plan-memory=alignment=256";
  diagnostic.attachNote(place.getLoc()) << "the storage is planned here";
  return diagnostic;
}

LogicalResult EntryEmitter::verifyOffsets() {
  for (auto storage : entry.getBody().getOps<ArenaOpInterface>()) {
    if (!storage.getOffset())
      return storage.emitError() << "has no offset: run --exec-plan-memory before emitting an executable";
    int64_t elementBytes = getElementBytes(storage.getBuffer().getType().getElementType());
    if (failed(verifyOffset(storage, storage.getBuffer(), elementBytes)))
      return failure();
  }
  for (auto launch : entry.getBody().getOps<LaunchOp>()) {
    const CompiledKernel *kernel = symbols.findCompiled(launch);
    if (!kernel)
      continue;
    auto operands = llvm::concat<Value>(launch.getInputs(), launch.getOutputs());
    for (auto [buffer, alignment] : llvm::zip(operands, kernel->alignments))
      if (failed(verifyOffset(launch, buffer, alignment)))
        return failure();
    if (Value workspace = launch.getWorkspace(); workspace && kernel->getWorkspaceBytes() != 0)
      if (failed(verifyOffset(launch, workspace, format::kLaunchWorkspaceAlignment)))
        return failure();
  }
  if (symbols.target == Target::CPU)
    return success();
  for (auto gemm : entry.getBody().getOps<GemmOp>())
    if (gemm.getWorkspace() && failed(verifyOffset(gemm, gemm.getWorkspace(), format::kGemmWorkspaceAlignment)))
      return failure();
  return success();
}

FailureOr<std::unique_ptr<format::EntryT>> EntryEmitter::emit() {
  if (!entry.getArenaBytes() || !entry.getAlignment())
    return entry.emitError() << "@" << entry.getSymName()
                             << " has no memory plan: run --exec-plan-memory before emitting an executable";
  result->name = entry.getSymName().str();
  result->mode = toFormat(entry.getMode());
  result->arena_bytes = *entry.getArenaBytes();
  result->alignment = *entry.getAlignment();
  for (auto input : entry.getBody().getOps<InputOp>())
    addInput(input);
  for (auto launch : entry.getBody().getOps<LaunchOp>())
    if (symbols.compiled && !symbols.compiled->contains(launch.getKernel()))
      return launch.emitError() << "kernel @" << launch.getKernel() << " was not compiled";
  if (failed(verifyOffsets()))
    return failure();
  // Stream 0 keeps its number, whichever comes first. Devices prefer the work of the other streams.
  streams.try_emplace(0, 0);
  for (auto command : entry.getBody().getOps<CommandOpInterface>())
    addCommand(command);
  if (streams.size() > format::kMostStreams)
    return entry.emitError() << "@" << entry.getSymName() << " uses " << streams.size()
                             << " streams, and an executable may have " << format::kMostStreams;
  for (auto output : entry.getBody().getOps<OutputOp>())
    addOutput(output);
  result->streams = streams.size();
  result->events = events.size();
  return std::move(result);
}
