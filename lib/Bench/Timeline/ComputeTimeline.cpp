//===- ComputeTimeline.cpp - From a planned entry to its timeline ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timeline/MemoryTimeline.h"
#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "cs336/Dialect/Exec/IR/CommandSource.h"
#include "cs336/Dialect/Exec/IR/ProgramMemory.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;
using exec::CommandPhase;

static std::string printType(MemRefType type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(type.getShape(), stream, "x");
  stream << (type.getRank() ? "x" : "") << type.getElementType();
  return text;
}

static MemoryKind classify(exec::VariableKind kind) {
  switch (kind) {
  case exec::VariableKind::Parameter:
    return MemoryKind::Parameter;
  case exec::VariableKind::State:
    return MemoryKind::State;
  case exec::VariableKind::Derived:
    return MemoryKind::Derived;
  }
  llvm_unreachable("every kind of variable is a kind of memory");
}

static bool isAfterBackward(CommandPhase phase) {
  return phase == CommandPhase::Optimizer || phase == CommandPhase::Communication;
}

static bool isWorkspace(exec::ArenaOpInterface storage) {
  return llvm::any_of(storage->getUsers(),
                      [&](Operation *user) { return exec::getWorkspace(user) == storage.getBuffer(); });
}

static bool isExchanged(exec::ArenaOpInterface storage) {
  return llvm::any_of(storage->getUsers(), llvm::IsaPred<exec::CollectiveOp>);
}

static MemoryKind classify(exec::ArenaOpInterface storage, CommandPhase first, CommandPhase last) {
  bool isOfBackward = first == CommandPhase::Backward;
  if (isWorkspace(storage))
    return MemoryKind::Workspace;
  if (storage.outlivesCommands())
    return isOfBackward ? MemoryKind::Gradient : MemoryKind::Output;
  if (isOfBackward && isAfterBackward(last))
    return MemoryKind::Gradient;
  if (isExchanged(storage))
    return MemoryKind::Communication;
  if (first == CommandPhase::Forward && last == CommandPhase::Backward)
    return MemoryKind::Activation;
  return MemoryKind::Temporary;
}

static void addVariables(ModuleOp module, bool isForGPU, MemoryTimeline &timeline) {
  llvm::DenseSet<StringAttr> onDevice = exec::getVariablesOnDevice(module);
  for (auto variable : module.getOps<exec::VariableOp>()) {
    MemRefType type = variable.getBufferType();
    int64_t bytes = exec::getStorageBytes(type);
    if (isForGPU && !onDevice.contains(variable.getSymNameAttr())) {
      timeline.hostBytes += bytes;
      continue;
    }
    Allocation &resident = timeline.residents.emplace_back();
    resident.bytes = bytes;
    resident.type = printType(type);
    resident.source = variable.getSymName().str();
    resident.kind = classify(variable.getKind());
    resident.location = exec::printLocation(variable.getLoc());
  }
}

static void addInputs(ModuleOp module, MemoryTimeline &timeline) {
  for (auto entry : module.getOps<exec::EntryOp>()) {
    timeline.arenaBytes = std::max(timeline.arenaBytes, static_cast<int64_t>(entry.getArenaBytes().value_or(0)));
    for (auto input : entry.getBody().getOps<exec::InputOp>()) {
      Allocation &resident = timeline.residents.emplace_back();
      resident.bytes = exec::getStorageBytes(input.getType());
      resident.type = printType(input.getType());
      resident.source = input.getName().str();
      resident.kind = MemoryKind::Input;
      resident.location = exec::printLocation(input.getLoc());
    }
  }
}

/// Adds the commands, each with its time.
static void addCommands(exec::EntryOp entry, const exec::HappensBefore &order, const DeviceModel &device,
                        MemoryTimeline &timeline) {
  exec::WorkCounter counter(entry);
  llvm::SmallVector<double> streams(order.getNumStreams(), 0);
  llvm::DenseMap<uint64_t, double> events;
  for (auto [position, op] : llvm::enumerate(order.getCommands())) {
    exec::CommandOpInterface command = op;
    double &stream = streams[order.getStream(position)];
    TimedCommand &timed = timeline.commands.emplace_back();
    timed.name = command.getCommandName();
    timed.source = exec::getSourcePath(command->getLoc()).str();
    timed.phase = command.getPhase();
    timed.work = counter.measure(command);
    timed.start = stream;
    if (std::optional<uint64_t> event = command.getAwaitedEvent())
      timed.start = std::max(timed.start, events.lookup(*event));
    if (auto collective = dyn_cast<exec::CollectiveOp>(command.getOperation())) {
      timed.isCollective = true;
      timed.wireBytes = getWireBytes(collective);
      timed.end = timed.start + device.predictSeconds(collective);
    } else {
      timed.end = timed.start + device.predictSeconds(timed.work, counter.getArithmetic(command));
    }
    if (std::optional<uint64_t> event = command.getRecordedEvent())
      events[*event] = timed.end;
    stream = timed.end;
  }
}

static void addAllocations(llvm::ArrayRef<exec::Lifetime> lifetimes, MemoryTimeline &timeline) {
  for (const exec::Lifetime &lifetime : lifetimes) {
    exec::ArenaOpInterface storage = lifetime.storage;
    Allocation &added = timeline.allocations.emplace_back();
    added.bytes = lifetime.bytes;
    added.firstPhase = timeline.commands[lifetime.first].phase;
    added.lastPhase = timeline.commands[lifetime.last].phase;
    added.kind = classify(storage, added.firstPhase, added.lastPhase);
    added.type = added.kind == MemoryKind::Workspace ? "workspace" : printType(storage.getBuffer().getType());
    added.source = exec::getSourcePath(storage->getLoc()).str();
    added.location = exec::printLocation(storage->getLoc());
    added.first = lifetime.first;
    added.last = lifetime.last;
    added.offset = static_cast<int64_t>(storage.getOffset().value_or(0));
    added.outlivesCommands = storage.outlivesCommands();
  }
  llvm::stable_sort(timeline.allocations, [](const auto &a, const auto &b) { return a.bytes > b.bytes; });
}

FailureOr<MemoryTimeline> cs336::bench::computeTimeline(exec::EntryOp entry, const DeviceModel &device, bool isForGPU) {
  exec::HappensBefore order(entry);
  FailureOr<std::vector<exec::Lifetime>> lifetimes = exec::computeLifetimes(entry, order);
  if (failed(lifetimes))
    return failure();
  MemoryTimeline timeline;
  timeline.device = device.name.str();
  auto module = cast<ModuleOp>(entry->getParentOp());
  addVariables(module, isForGPU, timeline);
  addInputs(module, timeline);
  addCommands(entry, order, device, timeline);
  addAllocations(*lifetimes, timeline);
  return timeline;
}
