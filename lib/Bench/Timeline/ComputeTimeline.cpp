//===- ComputeTimeline.cpp - From an executable to its timeline -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timeline/MemoryTimeline.h"
#include "cs336/runtime/Executable.h"
#include "cs336/runtime/Tensor.h"
#include "cs336/runtime/format/Lifetimes.h"
#include "cs336/runtime/format/ReservedMemory.h"
#include "llvm/ADT/STLExtras.h"

using namespace cs336;
using namespace cs336::bench;
using exec::CommandPhase;

//===----------------------------------------------------------------------===//
// Terms of the format
//===----------------------------------------------------------------------===//

/// Prints a type such as "4x25x512x512xf32".
static std::string printType(const format::TensorTypeT &type) {
  std::string text;
  for (int64_t size : type.shape)
    text += std::to_string(size) + "x";
  return text + format::EnumNameDType(type.dtype);
}

static int64_t getBytes(const format::TensorTypeT &type) {
  return runtime::TensorView(runtime::ToTensorType(type), nullptr).num_bytes();
}

static int64_t getBytes(const format::BufferT &buffer) {
  format::TensorTypeT type;
  type.dtype = buffer.dtype;
  type.shape = buffer.shape;
  return getBytes(type);
}

static MemoryKind classify(format::VariableKind kind) {
  switch (kind) {
  case format::VariableKind::parameter:
    return MemoryKind::Parameter;
  case format::VariableKind::state:
    return MemoryKind::State;
  case format::VariableKind::derived:
    return MemoryKind::Derived;
  }
  llvm_unreachable("every kind of variable is a kind of memory");
}

static CommandPhase getPhase(format::Phase phase) {
  switch (phase) {
  case format::Phase::forward:
    return CommandPhase::Forward;
  case format::Phase::backward:
    return CommandPhase::Backward;
  case format::Phase::optimizer:
    return CommandPhase::Optimizer;
  case format::Phase::prepare:
    return CommandPhase::Prepare;
  case format::Phase::communication:
    return CommandPhase::Communication;
  }
  llvm_unreachable("every phase has a name");
}

static CollectiveKind getKind(format::CollectiveKind kind) {
  switch (kind) {
  case format::CollectiveKind::all_reduce:
    return CollectiveKind::AllReduce;
  case format::CollectiveKind::all_gather:
    return CollectiveKind::AllGather;
  case format::CollectiveKind::reduce_scatter:
    return CollectiveKind::ReduceScatter;
  case format::CollectiveKind::broadcast:
    return CollectiveKind::Broadcast;
  case format::CollectiveKind::all_to_all:
    return CollectiveKind::AllToAll;
  }
  llvm_unreachable("every kind of collective is listed");
}

const format::EntryT *cs336::bench::findEntry(const format::ExecutableT &program, Mode mode) {
  for (const auto &entry : program.entries)
    if (format::EnumNameMode(entry->mode) == stringifyMode(mode))
      return entry.get();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Variables and inputs
//===----------------------------------------------------------------------===//

static void addVariables(const format::ExecutableT &program, MemoryTimeline &timeline) {
  for (auto [variable, isOnHost] : llvm::zip_equal(program.variables, format::FindHostVariables(program))) {
    if (isOnHost)
      continue;
    format::TensorTypeT own = *variable->type;
    if (variable->shards > 1 && !variable->gathered)
      own.shape[0] /= variable->shards;
    Allocation &resident = timeline.residents.emplace_back();
    resident.bytes = getBytes(own);
    resident.type = printType(own);
    resident.source = variable->name;
    resident.kind = classify(variable->kind);
    resident.location = variable->location;
  }
}

static void addInputs(const format::ExecutableT &program, MemoryTimeline &timeline) {
  for (const auto &entry : program.entries) {
    for (const auto &input : entry->inputs) {
      Allocation &resident = timeline.residents.emplace_back();
      resident.bytes = getBytes(*input->type);
      resident.type = printType(*input->type);
      resident.source = input->name;
      resident.kind = MemoryKind::Input;
      resident.location = input->location;
    }
  }
}

/// Adds what a session reserves beside the values of variables and inputs.
static void addGaps(const format::ReservedMemory &reserved, MemoryTimeline &timeline) {
  auto add = [&](int64_t bytes, llvm::StringRef source) {
    if (bytes == 0)
      return;
    Allocation &resident = timeline.residents.emplace_back();
    resident.bytes = bytes;
    resident.type = std::to_string(bytes) + "xi8";
    resident.source = source.str();
    resident.kind = MemoryKind::Input;
  };
  add(reserved.input_slots, "inputs of the next runs");
  add(reserved.alignment, "alignment of variables and inputs");
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static exec::Work getWork(const format::CommandT &command) {
  exec::Work work;
  switch (command.body.type) {
  case format::CommandBody::Record:
  case format::CommandBody::Wait:
    return work;
  case format::CommandBody::Launch:
    work.launches = 1;
    break;
  case format::CommandBody::Gemm:
    work.gemms = 1;
    break;
  default:
    work.others = 1;
  }
  work.flops = command.flops;
  work.bytes = command.bytes;
  return work;
}

/// Returns the bytes of all parts of all buffers, as getRingBytes takes them.
static int64_t getWholeBytes(const format::EntryT &entry, const format::CollectiveT &collective, int64_t ranks) {
  int64_t bytes = 0;
  for (uint32_t index : collective.sources)
    bytes += getBytes(*entry.buffers[index]);
  return collective.kind == format::CollectiveKind::all_gather ? bytes * ranks : bytes;
}

/// Adds the commands, each with its time.
static void addCommands(const format::ExecutableT &program, const format::EntryT &entry, const DeviceModel &device,
                        MemoryTimeline &timeline) {
  std::vector<double> streams(entry.streams), events(entry.events);
  for (const auto &command : entry.commands) {
    double &stream = streams[command->stream];
    TimedCommand &timed = timeline.commands.emplace_back();
    timed.name = command->name;
    timed.source = command->source;
    timed.phase = getPhase(command->phase);
    timed.work = getWork(*command);
    timed.start = stream;
    if (const format::WaitT *wait = command->body.AsWait())
      timed.start = std::max(timed.start, events[wait->event]);
    if (const format::CollectiveT *collective = command->body.AsCollective()) {
      CollectiveKind kind = getKind(collective->kind);
      int64_t bytes = getWholeBytes(entry, *collective, program.world_size);
      timed.isCollective = true;
      timed.wireBytes = getRingBytes(kind, program.world_size, bytes);
      timed.end = timed.start + device.interconnect.predict(kind, {program.world_size}, bytes).getTotal();
    } else {
      timed.end = timed.start + predictTime(device, timed.work, command->arithmetic).getTotal();
    }
    if (const format::RecordT *record = command->body.AsRecord())
      events[record->event] = timed.end;
    stream = timed.end;
  }
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

static MemoryKind classify(const format::Lifetime &lifetime, CommandPhase first, CommandPhase last) {
  bool isOfBackward = first == CommandPhase::Backward;
  bool isReadAfterBackward = last == CommandPhase::Optimizer || last == CommandPhase::Communication;
  if (lifetime.is_workspace)
    return MemoryKind::Workspace;
  if (lifetime.outlives_commands)
    return isOfBackward ? MemoryKind::Gradient : MemoryKind::Output;
  if (isOfBackward && isReadAfterBackward)
    return MemoryKind::Gradient;
  if (lifetime.is_exchanged)
    return MemoryKind::Communication;
  if (first == CommandPhase::Forward && last == CommandPhase::Backward)
    return MemoryKind::Activation;
  return MemoryKind::Temporary;
}

/// Returns the kinds of an entry's allocations, in their order. A reduced gradient is a gradient too: with sharded
/// parameters, a reduce-scatter writes the rank's part to other storage.
static std::vector<MemoryKind> classifyAll(const format::EntryT &entry, llvm::ArrayRef<format::Lifetime> lifetimes,
                                           llvm::ArrayRef<TimedCommand> commands) {
  std::vector<MemoryKind> kinds(lifetimes.size(), MemoryKind::Temporary);
  for (auto [kind, lifetime] : llvm::zip_equal(kinds, lifetimes))
    if (lifetime.is_used)
      kind = classify(lifetime, commands[lifetime.first].phase, commands[lifetime.last].phase);
  for (const auto &command : entry.commands) {
    const format::CollectiveT *collective = command->body.AsCollective();
    if (!collective || !isReducing(getKind(collective->kind)))
      continue;
    for (auto [source, target] : llvm::zip_equal(collective->sources, collective->targets)) {
      const format::BufferT &from = *entry.buffers[source], &to = *entry.buffers[target];
      bool areInArena = from.source == format::BufferSource::arena && to.source == format::BufferSource::arena;
      if (areInArena && kinds[from.index] == MemoryKind::Gradient && kinds[to.index] == MemoryKind::Communication)
        kinds[to.index] = MemoryKind::Gradient;
    }
  }
  return kinds;
}

static void addAllocations(const format::EntryT &entry, MemoryTimeline &timeline) {
  std::vector<format::Lifetime> lifetimes = format::Lifetimes(entry);
  std::vector<MemoryKind> kinds = classifyAll(entry, lifetimes, timeline.commands);
  for (size_t index : format::RankAllocations(entry, lifetimes)) {
    const format::AllocationT *allocation = entry.allocations[index].get();
    const format::Lifetime &lifetime = lifetimes[index];
    Allocation &added = timeline.allocations.emplace_back();
    added.bytes = allocation->byte_size;
    added.firstPhase = timeline.commands[lifetime.first].phase;
    added.lastPhase = timeline.commands[lifetime.last].phase;
    added.kind = kinds[index];
    added.type = added.kind == MemoryKind::Workspace ? "workspace" : printType(*allocation->type);
    added.source = allocation->source;
    added.location = allocation->location;
    added.first = lifetime.first;
    added.last = lifetime.last;
    added.offset = allocation->byte_offset;
    added.outlivesCommands = lifetime.outlives_commands;
  }
}

MemoryTimeline cs336::bench::computeTimeline(const format::ExecutableT &program, const format::EntryT &entry,
                                             const DeviceModel &device) {
  MemoryTimeline timeline;
  timeline.device = device.name.str();
  format::ReservedMemory reserved = format::ComputeReservedMemory(program);
  timeline.hostBytes = reserved.host;
  timeline.arenaBytes = reserved.arena;
  addVariables(program, timeline);
  addInputs(program, timeline);
  addGaps(reserved, timeline);
  addCommands(program, entry, device, timeline);
  addAllocations(entry, timeline);
  return timeline;
}
