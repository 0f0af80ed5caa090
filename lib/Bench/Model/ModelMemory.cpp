//===- ModelMemory.cpp - Memory in use beside the plan --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelMemory.h"

#include "cs336/Bench/Command/ModelColumns.h"
#include "llvm/ADT/STLExtras.h"

using namespace cs336;
using namespace cs336::bench;
using runtime::SessionMemory;

/// Returns the bytes that came into use since the session was created, such as code that is loaded when it first runs.
static int64_t getLaterBytes(const SessionMemory &memory) {
  return memory.used - memory.allocated - memory.kernels - memory.libraries - memory.graphs - memory.rounding;
}

std::vector<Column<ModelRow>> cs336::bench::getMemoryColumns(Show show) {
  std::vector<Column<ModelRow>> columns;
  auto add = [&](std::string title, std::string key, int64_t (*get)(const SessionMemory &)) {
    columns.push_back({std::move(title), std::move(key),
                       [get](const ModelRow &row) {
                         const std::optional<SessionMemory> &memory = row.measurement.deviceMemory;
                         return Cell::mebibytes(memory ? std::optional(get(*memory)) : std::nullopt);
                       },
                       show});
  };
  add("device memory (MiB)", "device_memory_mib", [](const SessionMemory &memory) { return memory.used; });
  add("unplanned (MiB)", "unplanned_mib", [](const SessionMemory &memory) { return memory.used - memory.allocated; });
  columns.push_back({"unplanned (%)", "unplanned_percent",
                     [](const ModelRow &row) {
                       const std::optional<SessionMemory> &memory = row.measurement.deviceMemory;
                       if (!memory || memory->allocated == 0)
                         return Cell::empty();
                       return Cell::number(100 * (static_cast<double>(memory->used) / memory->allocated - 1), 2);
                     },
                     show});
  add("modules (MiB)", "modules_mib", [](const SessionMemory &memory) { return memory.kernels; });
  add("libraries (MiB)", "libraries_mib", [](const SessionMemory &memory) { return memory.libraries; });
  add("graphs (MiB)", "graphs_mib", [](const SessionMemory &memory) { return memory.graphs; });
  add("rounding (MiB)", "rounding_mib", [](const SessionMemory &memory) { return memory.rounding; });
  add("later (MiB)", "later_mib", &getLaterBytes);
  add("context and others (MiB)", "before_mib", [](const SessionMemory &memory) { return memory.before; });
  return columns;
}

void cs336::bench::appendMemoryTable(Report &report, llvm::ArrayRef<ModelRow> rows) {
  std::vector<ModelRow> counted;
  llvm::copy_if(rows, std::back_inserter(counted),
                [](const ModelRow &row) { return row.measurement.deviceMemory.has_value(); });
  if (counted.empty())
    return;
  std::vector<Column<ModelRow>> columns = getModelSettings<ModelRow>();
  columns.push_back({"planned (MiB)", "memory_mib",
                     [](const ModelRow &row) { return Cell::mebibytes(row.measurement.memoryBytes); }});
  llvm::append_range(columns, getMemoryColumns(Show::Result));
  report.tables.push_back({"memory",
                           "memory as planned, and in use after the steps by the device's own count; modules to later "
                           "are the parts of unplanned; the context and others were there before",
                           columns, llvm::ArrayRef(counted)});
}
