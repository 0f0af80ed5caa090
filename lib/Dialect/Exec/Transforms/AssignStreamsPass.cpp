//===- AssignStreamsPass.cpp - Collectives beside computation -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamEdges.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/Exec/Transforms/CollectiveOrder.h"
#include "cs336/Dialect/Exec/Transforms/CommandWork.h"
#include "cs336/Dialect/Exec/Transforms/HappensBefore.h"
#include "cs336/Dialect/Exec/Transforms/LiveSets.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace cs336::exec {
#define GEN_PASS_DEF_ASSIGNSTREAMSPASS
#include "cs336/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cs336::exec

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions assignStreamsRemarks("exec-assign-streams");

static bool usesStreams(CommandOpInterface command) {
  return command.getStream() != 0 || command.getRecordedEvent() || command.getAwaitedEvent();
}

namespace {
struct AssignStreamsPass : exec::impl::AssignStreamsPassBase<AssignStreamsPass>, CountingPass {
  void runOnOperation() override;

private:
  void sortCommands(SmallVector<CommandOpInterface> &commands, LiveSets &liveSets);
  void describeMemoryWaits(ArrayRef<CommandOpInterface> commands, ArrayRef<StreamEdge> edges, int64_t largestLiveSet);
  void addEvents(ArrayRef<CommandOpInterface> commands, std::vector<StreamEdge> edges);
  void describeOverlap();

  PassCounter numCollectives{this, "num-collectives", "Number of collectives on stream 1"};
  PassCounter numOverlapping{this, "num-overlapping", "Number of collectives that can run beside other commands"};
  PassCounter numEvents{this, "num-events", "Number of events"};
  PassCounter numMemoryWaits{this, "num-memory-waits", "Number of waits only for freed memory"};
  PassCounter numMoved{this, "num-moved", "Number of commands moved ahead of others that depend on later collectives"};
};
} // namespace

/// Sorts the commands after the last collective, so that commands that need only earlier collectives do not stand
/// behind commands that wait for later ones.
void AssignStreamsPass::sortCommands(SmallVector<CommandOpInterface> &commands, LiveSets &liveSets) {
  EntryOp entry = getOperation();
  SmallVector<unsigned> order = orderByLatestCollective(commands), places(order.size());
  for (auto [place, position] : llvm::enumerate(order))
    places[position] = place;
  // The commands that now precede a command that they followed.
  unsigned moved = 0, furthest = 0;
  for (unsigned place : places) {
    moved += place < furthest;
    furthest = std::max(furthest, place);
  }
  if (moved == 0)
    return;
  if (!liveSets.tryMove(places)) {
    remark::missed(entry.getLoc(), assignStreamsRemarks("KeptOrder"))
        << remark::add("@{0}: {1} commands stay behind others that depend on later collectives: in another order "
                       "they would raise the largest live set",
                       entry.getSymName().str(), moved);
    return;
  }
  commands = llvm::map_to_vector(order, [&](unsigned position) { return commands[position]; });
  size_t first = 0;
  while (order[first] == first)
    ++first;
  // Definitions of buffers stay where they are. They precede all commands that move to the end.
  Block &body = entry.getBody().front();
  for (CommandOpInterface command : ArrayRef(commands).drop_front(first))
    command->moveBefore(&body, body.end());
  numMoved += moved;
  remark::passed(entry.getLoc(), assignStreamsRemarks("Sorted")) << remark::add(
      "@{0}: {1} commands run ahead of others that depend on later collectives", entry.getSymName().str(), moved);
}

/// Emits a remark for each wait that only the reuse of memory requires.
void AssignStreamsPass::describeMemoryWaits(ArrayRef<CommandOpInterface> commands, ArrayRef<StreamEdge> edges,
                                            int64_t largestLiveSet) {
  for (const StreamEdge &edge : edges) {
    if (edge.bytesWithout == 0)
      continue;
    ++numMemoryWaits;
    remark::analysis(commands[edge.waiting]->getLoc(), assignStreamsRemarks("MemoryWait"))
        << remark::add("waits for memory that {0} frees: otherwise {1} bytes would be in use; the largest live set of "
                       "one stream is {2} bytes",
                       CommandOpInterface(commands[edge.ended]).getCommandName(), edge.bytesWithout, largestLiveSet);
  }
}

/// Adds a record after and a wait before the commands of each edge. Both have the location of the collective among
/// them. Events are numbered in the order of their records.
void AssignStreamsPass::addEvents(ArrayRef<CommandOpInterface> commands, std::vector<StreamEdge> edges) {
  llvm::sort(edges, [](const StreamEdge &lhs, const StreamEdge &rhs) { return lhs.ended < rhs.ended; });
  OpBuilder builder(&getContext());
  for (auto [event, edge] : llvm::enumerate(edges)) {
    CommandOpInterface ended = commands[edge.ended], waiting = commands[edge.waiting];
    Location loc = inPhase(Phase::Communication, (communicates(ended) ? ended : waiting)->getLoc());
    builder.setInsertionPointAfter(ended);
    RecordOp::create(builder, loc, event, ended.getStream());
    builder.setInsertionPoint(waiting);
    WaitOp::create(builder, loc, event, waiting.getStream());
  }
  numEvents += edges.size();
}

/// Emits remarks with the commands that collectives can run beside.
void AssignStreamsPass::describeOverlap() {
  EntryOp entry = getOperation();
  HappensBefore order(entry);
  WorkCounter counter(entry);
  std::vector<Work> works;
  for (CommandOpInterface command : order.getCommands())
    works.push_back(counter.measure(command));

  auto describe = [&](const llvm::BitVector &beside) -> std::string {
    if (beside.none())
      return "no command";
    double flops = 0;
    for (unsigned position : beside.set_bits())
      if (works[position].gemms != 0)
        flops += works[position].flops;
    return llvm::formatv("{0} commands, {1:f3} GFLOP of them in GEMMs", beside.count(), flops / 1e9).str();
  };
  llvm::BitVector besideAny(works.size());
  unsigned collectives = 0, overlapping = 0;
  for (auto [position, command] : llvm::enumerate(order.getCommands())) {
    if (!communicates(command))
      continue;
    llvm::BitVector beside(works.size());
    for (unsigned other = 0; other < works.size(); ++other)
      if (works[other].getCommands() != 0 && order.getStream(other) != order.getStream(position) &&
          !order.isBefore(other, position) && !order.isBefore(position, other))
        beside.set(other);
    ++collectives;
    if (beside.none()) {
      remark::missed(command->getLoc(), assignStreamsRemarks("Alone"))
          << remark::add("no command can run at the same time: the next one waits for the result");
      continue;
    }
    ++overlapping;
    besideAny |= beside;
    remark::analysis(command->getLoc(), assignStreamsRemarks("Overlap"))
        << remark::add("can overlap with {0}", describe(beside));
  }
  numCollectives += collectives;
  numOverlapping += overlapping;
  remark::passed(entry.getLoc(), assignStreamsRemarks("Streams"))
      << remark::add("@{0}: {1} collectives on stream 1; {2} can overlap with {3}", entry.getSymName().str(),
                     collectives, overlapping, describe(besideAny));
}

void AssignStreamsPass::runOnOperation() {
  EntryOp entry = getOperation();
  SmallVector<CommandOpInterface> commands(entry.getBody().getOps<CommandOpInterface>());
  if (llvm::none_of(commands, communicates))
    return;
  if (llvm::any_of(commands, usesStreams)) {
    remark::missed(entry.getLoc(), assignStreamsRemarks("KeptStreams"))
        << remark::add("@{0}: its commands already use streams or events", entry.getSymName().str());
    return;
  }
  LiveSets liveSets(commands);
  sortCommands(commands, liveSets);
  std::vector<StreamEdge> edges = findStreamEdges(commands, liveSets.getLargest());
  describeMemoryWaits(commands, edges, liveSets.getLargest());
  for (CommandOpInterface command : commands)
    if (auto collective = dyn_cast<CollectiveOp>(command.getOperation()); collective && communicates(collective))
      collective.setStream(kCommunication);
  addEvents(commands, std::move(edges));
  describeOverlap();
}
