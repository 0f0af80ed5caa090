//===- Lifetimes.cpp - When memory of the arena is live -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/format/Lifetimes.h"

#include "format/CommandVisitor.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cs336::format {

std::vector<Lifetime> Lifetimes(const EntryT &entry) {
  std::vector<Lifetime> lifetimes(entry.allocations.size());
  Lifetime elsewhere; // The uses of variables and inputs.
  auto find = [&](uint32_t index) -> Lifetime & {
    const BufferT &buffer = *entry.buffers[index];
    return buffer.source == BufferSource::arena ? lifetimes[buffer.index] : elsewhere;
  };
  for (size_t position = 0; position != entry.commands.size(); ++position) {
    const CommandT &command = *entry.commands[position];
    auto use = [&](uint32_t index) -> Lifetime & {
      Lifetime &lifetime = find(index);
      if (!lifetime.is_used)
        lifetime.first = position;
      lifetime.is_used = true;
      lifetime.last = position;
      lifetime.is_exchanged |= command.body.type == CommandBody::Collective;
      return lifetime;
    };
    for (uint32_t index : runtime::ReadBuffers(command))
      use(index);
    for (uint32_t index : runtime::WrittenBuffers(command))
      use(index);
    if (std::optional<uint32_t> workspace = runtime::FindWorkspace(command))
      use(*workspace).is_workspace = true;
  }
  for (const auto &output : entry.outputs) {
    Lifetime &lifetime = find(output->buffer);
    lifetime.outlives_commands = true;
    if (lifetime.is_used)
      lifetime.last = entry.commands.size() - 1;
  }
  return lifetimes;
}

std::vector<size_t> RankAllocations(const EntryT &entry, const std::vector<Lifetime> &lifetimes) {
  std::vector<size_t> ranked;
  for (size_t i = 0; i != lifetimes.size(); ++i)
    if (lifetimes[i].is_used)
      ranked.push_back(i);
  std::stable_sort(ranked.begin(), ranked.end(), [&](size_t a, size_t b) {
    return std::pair(-entry.allocations[a]->byte_size, lifetimes[a].first) <
           std::pair(-entry.allocations[b]->byte_size, lifetimes[b].first);
  });
  return ranked;
}

std::vector<int64_t> LiveBytes(const EntryT &entry) {
  std::vector<int64_t> changes(entry.commands.size() + 1);
  std::vector<Lifetime> lifetimes = Lifetimes(entry);
  for (size_t i = 0; i != lifetimes.size(); ++i) {
    if (!lifetimes[i].is_used)
      continue;
    changes[lifetimes[i].first] += entry.allocations[i]->byte_size;
    changes[lifetimes[i].last + 1] -= entry.allocations[i]->byte_size;
  }
  for (size_t position = 1; position < changes.size(); ++position)
    changes[position] += changes[position - 1];
  changes.pop_back();
  return changes;
}

} // namespace cs336::format
