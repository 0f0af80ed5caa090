//===- AssignStreamsPass.cpp - Collectives beside computation -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/Exec/Transforms/CollectiveOrder.h"
#include "cs336/Dialect/Exec/Transforms/CommandWork.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "llvm/ADT/BitVector.h"

#include <array>

namespace cs336::exec {
#define GEN_PASS_DEF_ASSIGNSTREAMSPASS
#include "cs336/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cs336::exec

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions remarkOptions("exec-assign-streams");

static bool usesStreams(CommandOpInterface command) {
  return command.getStream() != 0 || command.getRecordedEvent() || command.getAwaitedEvent();
}

namespace {
enum Stream : unsigned { kComputation, kCommunication, kNumStreams };

/// The position of a command among those of the entry, or kNone.
using Position = int64_t;
constexpr Position kNone = -1;

/// The last accesses of a piece of storage on each stream.
struct Accesses {
  std::array<Position, kNumStreams> read{kNone, kNone}, write{kNone, kNone};
};

/// The command at `waiting` starts after the command at `ended`, which is on the other stream.
struct Edge {
  Position ended, waiting;
};

/// Finds the edges that an entry's collectives need on a stream of their own.
///
/// Each stream runs its commands in order. With two streams, the clock of one of them is therefore one number, the last
/// command of the other that it has waited for: that command can only have waited for the stream's own past.
class EdgeFinder {
public:
  explicit EdgeFinder(ArrayRef<CommandOpInterface> commands) : commands(commands) {}

  /// Returns the edges in the order of the waiting commands.
  std::vector<Edge> find();

private:
  void measureUses();
  void visit(Position position);
  Position findDependence(CommandOpInterface command, Stream stream);
  void recordAccesses(CommandOpInterface command, Stream stream, Position position);
  int64_t getFreshBytes(CommandOpInterface command, Position position) const;
  int64_t getDyingBytes(CommandOpInterface command, Position position) const;

  ArrayRef<CommandOpInterface> commands;
  /// The first and the last use of storage in the arena.
  llvm::DenseMap<Operation *, std::pair<Position, Position>> uses;
  llvm::DenseMap<const void *, Accesses> accesses;
  std::array<Position, kNumStreams> latest{kNone, kNone};
  /// For each stream, the last command of the other that has ended when its next command starts.
  std::array<Position, kNumStreams> known{kNone, kNone};
  /// The last collective that frees memory, and the one that computation has to wait for because of it.
  Position lastFreeing = kNone, awaited = kNone;
  std::vector<Edge> edges;
};

struct AssignStreamsPass : exec::impl::AssignStreamsPassBase<AssignStreamsPass>, CountingPass {
  void runOnOperation() override;

private:
  void addEvents(ArrayRef<CommandOpInterface> commands, std::vector<Edge> edges);
  void describeOverlap();

  PassCounter numCollectives{this, "num-collectives", "Number of collectives on stream 1"};
  PassCounter numOverlapping{this, "num-overlapping", "Number of collectives that can run beside other commands"};
  PassCounter numEvents{this, "num-events", "Number of events"};
};
} // namespace

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

void EdgeFinder::measureUses() {
  for (auto [position, each] : llvm::enumerate(commands)) {
    CommandOpInterface command = each;
    auto use = [&, position = static_cast<Position>(position)](Value buffer) {
      uses.try_emplace(getStorage(buffer), position, position).first->second.second = position;
    };
    llvm::for_each(command.getReads(), use);
    llvm::for_each(command.getWrites(), use);
  }
}

/// Returns the last command of the other stream that this one must follow because both access the same storage.
Position EdgeFinder::findDependence(CommandOpInterface command, Stream stream) {
  unsigned other = stream == kComputation ? kCommunication : kComputation;
  Position last = kNone;
  for (Value read : command.getReads())
    last = std::max(last, accesses[getStorageIdentity(read)].write[other]);
  for (Value write : command.getWrites()) {
    const Accesses &earlier = accesses[getStorageIdentity(write)];
    last = std::max({last, earlier.write[other], earlier.read[other]});
  }
  return last;
}

void EdgeFinder::recordAccesses(CommandOpInterface command, Stream stream, Position position) {
  for (Value read : command.getReads())
    accesses[getStorageIdentity(read)].read[stream] = position;
  for (Value write : command.getWrites())
    accesses[getStorageIdentity(write)].write[stream] = position;
}

/// Sums up the storage in the arena that `buffers` are in and that `isCounted`.
static int64_t sumArenaBytes(ArrayRef<Value> buffers, llvm::function_ref<bool(ArenaOpInterface)> isCounted) {
  llvm::SmallPtrSet<Operation *, 8> counted;
  int64_t bytes = 0;
  for (Value buffer : buffers) {
    auto storage = dyn_cast<ArenaOpInterface>(getStorage(buffer).getOperation());
    if (storage && isCounted(storage) && counted.insert(storage).second)
      bytes += getStorageBytes(storage.getBuffer().getType());
  }
  return bytes;
}

/// Returns the bytes of storage that the command is the first to use.
int64_t EdgeFinder::getFreshBytes(CommandOpInterface command, Position position) const {
  return sumArenaBytes(command.getWrites(),
                       [&](ArenaOpInterface storage) { return uses.at(storage).first == position; });
}

/// Returns the bytes of storage that the command is the last to use.
int64_t EdgeFinder::getDyingBytes(CommandOpInterface command, Position position) const {
  return sumArenaBytes(command.getReads(), [&](ArenaOpInterface storage) {
    return !storage.outlivesCommands() && uses.at(storage).second == position;
  });
}

void EdgeFinder::visit(Position position) {
  CommandOpInterface command = commands[position];
  Stream stream = communicates(command) ? kCommunication : kComputation;
  Position need = findDependence(command, stream);
  if (stream == kCommunication) {
    int64_t fresh = getFreshBytes(command, position);
    // Otherwise the storage would interfere with everything that is in use before.
    if (fresh > 0)
      need = std::max(need, latest[kComputation]);
    if (getDyingBytes(command, position) > fresh) {
      awaited = lastFreeing;
      lastFreeing = position;
    }
  } else {
    need = std::max(need, awaited);
  }
  if (need > known[stream]) {
    edges.push_back({need, position});
    known[stream] = need;
  }
  recordAccesses(command, stream, position);
  latest[stream] = position;
}

std::vector<Edge> EdgeFinder::find() {
  measureUses();
  for (size_t position = 0; position < commands.size(); ++position)
    visit(static_cast<Position>(position));
  return std::move(edges);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Adds a record after and a wait before the commands of each edge. Both have the location of the collective among
/// them. Events are numbered in the order of their records.
void AssignStreamsPass::addEvents(ArrayRef<CommandOpInterface> commands, std::vector<Edge> edges) {
  llvm::sort(edges, [](const Edge &lhs, const Edge &rhs) { return lhs.ended < rhs.ended; });
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
      remark::missed(command->getLoc(), remarkOptions("Alone"))
          << remark::add("no command can run at the same time: the next one waits for the result");
      continue;
    }
    ++overlapping;
    besideAny |= beside;
    remark::analysis(command->getLoc(), remarkOptions("Overlap"))
        << remark::add("can overlap with {0}", describe(beside));
  }
  numCollectives += collectives;
  numOverlapping += overlapping;
  remark::passed(entry.getLoc(), remarkOptions("Streams"))
      << remark::add("@{0}: {1} collectives on stream 1; {2} can overlap with {3}", entry.getSymName().str(),
                     collectives, overlapping, describe(besideAny));
}

void AssignStreamsPass::runOnOperation() {
  EntryOp entry = getOperation();
  SmallVector<CommandOpInterface> commands(entry.getBody().getOps<CommandOpInterface>());
  if (llvm::none_of(commands, communicates))
    return;
  if (llvm::any_of(commands, usesStreams)) {
    remark::missed(entry.getLoc(), remarkOptions("KeptStreams"))
        << remark::add("@{0}: its commands already use streams or events", entry.getSymName().str());
    return;
  }
  std::vector<Edge> edges = EdgeFinder(commands).find();
  for (CommandOpInterface command : commands)
    if (auto collective = dyn_cast<CollectiveOp>(command.getOperation()); collective && communicates(collective))
      collective.setStream(kCommunication);
  addEvents(commands, std::move(edges));
  describeOverlap();
}
