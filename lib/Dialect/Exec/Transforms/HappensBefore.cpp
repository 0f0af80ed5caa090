//===- HappensBefore.cpp - Which commands are over before others start -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/Transforms/HappensBefore.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

HappensBefore::HappensBefore(EntryOp entry) {
  llvm::DenseMap<uint64_t, unsigned> streamIndices;
  for (auto command : entry.getBody().getOps<CommandOpInterface>()) {
    commands.push_back(command);
    streams.push_back(streamIndices.try_emplace(command.getStream(), streamIndices.size()).first->second);
  }
  numStreams = streamIndices.size();

  using Clock = SmallVector<unsigned, 4>;
  SmallVector<Clock> now(numStreams, Clock(numStreams, 0));
  llvm::DenseMap<uint64_t, Clock> events;
  clocks.reserve(commands.size() * numStreams);
  for (auto [command, stream] : llvm::zip_equal(commands, streams)) {
    Clock &clock = now[stream];
    if (std::optional<uint64_t> event = command.getAwaitedEvent())
      for (auto [mine, theirs] : llvm::zip_equal(clock, events.at(*event)))
        mine = std::max(mine, theirs);
    ranks.push_back(clock[stream]);
    clocks.insert(clocks.end(), clock.begin(), clock.end());
    ++clock[stream];
    if (std::optional<uint64_t> event = command.getRecordedEvent())
      events[*event] = clock;
  }
}
