//===- EnqueueOrder.cpp - The order of commands of several streams --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/EnqueueOrder.h"

#include "absl/algorithm/container.h"

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

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

/// Requirements on the order of commands: each entry lists the positions of commands that must be enqueued before it.
class Order {
public:
  explicit Order(absl::Span<const CommandInfo> infos) : earlier_(FindEarlierUses(infos)) {
    std::map<int64_t, size_t> latest;
    for (size_t i = 0; i != infos.size(); ++i) {
      auto [place, is_first] = latest.try_emplace(infos[i].stream, i);
      if (!is_first)
        earlier_[i].push_back(std::exchange(place->second, i));
    }
  }

  /// Requires that `first` is enqueued before `second`, unless other requirements contradict that.
  void Prefer(size_t first, size_t second) {
    if (!Precedes(second, first))
      earlier_[second].push_back(first);
  }

  const std::vector<size_t> &Earlier(size_t i) const { return earlier_[i]; }

private:
  /// Returns true if `first` must be enqueued before `last`, or is it.
  bool Precedes(size_t first, size_t last) const {
    std::vector<bool> is_found(earlier_.size());
    std::vector<size_t> found = {last};
    is_found[last] = true;
    for (size_t next = 0; next != found.size() && !is_found[first]; ++next)
      for (size_t each : earlier_[found[next]])
        if (!is_found[each]) {
          is_found[each] = true;
          found.push_back(each);
        }
    return is_found[first];
  }

  std::vector<std::vector<size_t>> earlier_;
};

/// A wait of one stream for the work of another one.
struct Meeting {
  bool is_of_main;
  size_t before;     // The last work of the waiting stream before the wait.
  size_t waited_for; // The last work before the event.
};

/// Returns the waits for other streams whose streams have work before the wait, those of the main stream first.
std::vector<Meeting> FindMeetings(absl::Span<const CommandInfo> infos) {
  std::vector<Meeting> meetings;
  std::map<int64_t, size_t> latest_work, recorded; // By stream; by event.
  std::map<int64_t, int64_t> recorder;
  for (size_t i = 0; i != infos.size(); ++i) {
    auto work = latest_work.find(infos[i].stream);
    if (infos[i].kind == "record") {
      recorded.erase(infos[i].event);
      recorder[infos[i].event] = infos[i].stream;
      if (work != latest_work.end())
        recorded[infos[i].event] = work->second;
    } else if (infos[i].kind == "wait") {
      auto event = recorded.find(infos[i].event);
      if (event != recorded.end() && work != latest_work.end() && recorder[infos[i].event] != infos[i].stream)
        meetings.push_back({infos[i].stream == 0, work->second, event->second});
    } else {
      latest_work[infos[i].stream] = i;
    }
  }
  absl::c_stable_partition(meetings, [](const Meeting &each) { return each.is_of_main; });
  return meetings;
}

} // namespace

std::vector<size_t> OrderForEnqueue(absl::Span<const CommandInfo> infos) {
  Order required(infos);
  for (const Meeting &each : FindMeetings(infos))
    required.Prefer(each.before, each.waited_for);
  std::map<int64_t, std::deque<size_t>> streams; // Commands that are not enqueued yet.
  for (size_t i = 0; i != infos.size(); ++i)
    streams[infos[i].stream].push_back(i);

  std::vector<size_t> order;
  std::vector<bool> is_enqueued(infos.size());
  auto is_ready = [&](size_t i) {
    return absl::c_all_of(required.Earlier(i), [&](size_t each) { return is_enqueued[each]; });
  };
  while (order.size() != infos.size()) {
    // One of them is ready, since the requirements have no cycle.
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
