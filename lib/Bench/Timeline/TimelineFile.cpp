//===- TimelineFile.cpp - A timeline as CSV or JSON -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timeline/TimelineFile.h"

#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

/// Returns the key of a kind, such as "optimizer_state".
static std::string getKey(MemoryKind kind) {
  std::string key = stringifyMemoryKind(kind).str();
  llvm::replace(key, ' ', '_');
  return key;
}

/// Calls `function` for each command with work and the bytes that are live during it, with residents.
static void forEachRow(const MemoryTimeline &timeline,
                       llvm::function_ref<void(const TimedCommand &, const KindBytes &)> function) {
  KindBytes residents = timeline.getResidentBytes();
  timeline.forEachCommand([&](size_t position, const KindBytes &live) {
    const TimedCommand &command = timeline.commands[position];
    if (command.work.getCommands() == 0)
      return;
    KindBytes all = live;
    for (MemoryKind kind : getMemoryKinds())
      all[kind] += residents[kind];
    function(command, all);
  });
}

void cs336::bench::writeTimelineCSV(const MemoryTimeline &timeline, llvm::raw_ostream &os) {
  os << "start_us,end_us,phase,command,source";
  for (MemoryKind kind : getMemoryKinds())
    os << ',' << getKey(kind);
  os << ",active\n";
  forEachRow(timeline, [&](const TimedCommand &command, const KindBytes &live) {
    os << llvm::formatv("{0:f3},{1:f3},{2},{3},{4}", command.start * 1e6, command.end * 1e6,
                        exec::stringifyCommandPhase(command.phase), command.name, command.source);
    for (MemoryKind kind : getMemoryKinds())
      os << ',' << live[kind];
    os << ',' << live.getTotal() << '\n';
  });
}

static json::Object describe(const Allocation &allocation) {
  return json::Object{{"bytes", allocation.bytes},
                      {"kind", stringifyMemoryKind(allocation.kind)},
                      {"type", allocation.type},
                      {"source", allocation.source},
                      {"location", allocation.location}};
}

void cs336::bench::writeTimelineJSON(const MemoryTimeline &timeline, json::Object context, llvm::raw_ostream &os) {
  json::Array commands, residents, allocations;
  forEachRow(timeline, [&](const TimedCommand &command, const KindBytes &live) {
    json::Object row{{"start_us", command.start * 1e6},
                     {"end_us", command.end * 1e6},
                     {"phase", exec::stringifyCommandPhase(command.phase)},
                     {"command", command.name},
                     {"source", command.source},
                     {"active", live.getTotal()}};
    for (MemoryKind kind : getMemoryKinds())
      row[getKey(kind)] = live[kind];
    commands.push_back(std::move(row));
  });
  for (const Allocation &resident : timeline.residents)
    residents.push_back(describe(resident));
  for (const Allocation &allocation : timeline.allocations) {
    json::Object row = describe(allocation);
    row["start_us"] = timeline.commands[allocation.first].start * 1e6;
    row["end_us"] = timeline.commands[allocation.last].end * 1e6;
    allocations.push_back(std::move(row));
  }
  context["schema"] = "cs336.memory-timeline/1";
  context["device"] = timeline.device;
  context["times"] = timeline.isMeasured ? "measured" : "predicted";
  context["seconds"] = timeline.getSeconds();
  context["arena_bytes"] = timeline.arenaBytes;
  context["commands"] = std::move(commands);
  context["residents"] = std::move(residents);
  context["allocations"] = std::move(allocations);
  os << llvm::formatv("{0:2}", json::Value(std::move(context))) << '\n';
}
