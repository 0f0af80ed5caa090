//===- MemoryTimeline.cpp - Memory of an entry over time ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timeline/MemoryTimeline.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace cs336;
using namespace cs336::bench;

llvm::StringRef cs336::bench::stringifyMemoryKind(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::Parameter:
    return "parameter";
  case MemoryKind::State:
    return "optimizer state";
  case MemoryKind::Derived:
    return "derived variable";
  case MemoryKind::Input:
    return "input";
  case MemoryKind::Gradient:
    return "gradient";
  case MemoryKind::Activation:
    return "activation";
  case MemoryKind::Output:
    return "output";
  case MemoryKind::Communication:
    return "communication";
  case MemoryKind::Workspace:
    return "workspace";
  case MemoryKind::Temporary:
    return "temporary";
  }
  llvm_unreachable("every kind has a name");
}

std::array<MemoryKind, kNumMemoryKinds> cs336::bench::getMemoryKinds() {
  std::array<MemoryKind, kNumMemoryKinds> kinds;
  for (auto [index, kind] : llvm::enumerate(kinds))
    kind = static_cast<MemoryKind>(index);
  return kinds;
}

bool cs336::bench::livesAsLongAsSession(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::Parameter:
  case MemoryKind::State:
  case MemoryKind::Derived:
  case MemoryKind::Input:
    return true;
  default:
    return false;
  }
}

int64_t KindBytes::getTotal() const { return std::accumulate(bytes.begin(), bytes.end(), int64_t(0)); }

double MemoryTimeline::getSeconds() const {
  double seconds = 0;
  for (const TimedCommand &command : commands)
    seconds = std::max(seconds, command.end);
  return seconds;
}

KindBytes MemoryTimeline::getResidentBytes() const {
  KindBytes sum;
  for (const Allocation &resident : residents)
    sum[resident.kind] += resident.bytes;
  return sum;
}

void MemoryTimeline::forEachCommand(llvm::function_ref<void(size_t, const KindBytes &)> function) const {
  std::vector<llvm::SmallVector<const Allocation *, 2>> started(commands.size()), ended(commands.size());
  for (const Allocation &allocation : allocations) {
    started[allocation.first].push_back(&allocation);
    ended[allocation.last].push_back(&allocation);
  }
  KindBytes live;
  for (size_t position = 0; position < commands.size(); ++position) {
    for (const Allocation *allocation : started[position])
      live[allocation->kind] += allocation->bytes;
    function(position, live);
    for (const Allocation *allocation : ended[position])
      live[allocation->kind] -= allocation->bytes;
  }
}
