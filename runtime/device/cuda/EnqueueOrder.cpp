//===- EnqueueOrder.cpp - The order of commands of several streams --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/EnqueueOrder.h"

#include <cstdint>
#include <deque>
#include <map>

namespace cs336::runtime {

namespace {

/// The last record of an event and the waits for it since then, by position.
struct EventUses {
  std::vector<size_t> record, waits;
};

/// Returns, for each command, the positions of records and waits in other streams that must be enqueued before it.
std::vector<std::vector<size_t>> FindEarlierUses(absl::Span<const CommandInfo> infos) {
  std::vector<std::vector<size_t>> earlier(infos.size());
  std::map<int64_t, EventUses> events;
  for (size_t i = 0; i != infos.size(); ++i) {
    if (infos[i].event < 0)
      continue;
    EventUses &event = events[infos[i].event];
    earlier[i] = event.record;
    if (infos[i].kind == "wait") {
      event.waits.push_back(i);
      continue;
    }
    earlier[i].insert(earlier[i].end(), event.waits.begin(), event.waits.end());
    event = {{i}, {}};
  }
  return earlier;
}

} // namespace

std::vector<size_t> OrderForEnqueue(absl::Span<const CommandInfo> infos) {
  std::vector<std::vector<size_t>> earlier = FindEarlierUses(infos);
  std::map<int64_t, std::deque<size_t>> streams; // Commands that are not enqueued yet.
  for (size_t i = 0; i != infos.size(); ++i)
    streams[infos[i].stream].push_back(i);

  std::vector<size_t> order;
  std::vector<bool> is_enqueued(infos.size());
  auto is_ready = [&](size_t i) {
    for (size_t each : earlier[i])
      if (!is_enqueued[each])
        return false;
    return true;
  };
  while (order.size() != infos.size()) {
    // One of them is ready: the first of the remaining commands follows all earlier ones.
    for (auto &[stream, commands] : streams) {
      if (commands.empty() || !is_ready(commands.front()))
        continue;
      order.push_back(commands.front());
      is_enqueued[commands.front()] = true;
      commands.pop_front();
      break;
    }
  }
  return order;
}

} // namespace cs336::runtime
