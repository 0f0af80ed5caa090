//===- StreamEdges.cpp - Order between two streams ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamEdges.h"

#include "cs336/Dialect/Exec/Transforms/CollectiveOrder.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "llvm/ADT/MapVector.h"

#include <array>
#include <map>

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

namespace {
/// The position of a command among those of the entry, or kNone.
using Position = int64_t;
constexpr Position kNone = -1;

/// The last accesses of a piece of storage on each stream.
struct StreamAccesses {
  std::array<Position, kNumStreams> read{kNone, kNone}, write{kNone, kNone};
};

/// The arena as computation sees it. Storage is in use from its first command in the text to its last, and until
/// computation has waited for the last collective that uses it.
class ArenaUse {
public:
  explicit ArenaUse(ArrayRef<CommandOpInterface> commands);

  /// Returns the bytes of storage that the command is the first, or the last, to use.
  int64_t getFreshBytes(Position position) const { return fresh[position]; }
  int64_t getDyingBytes(Position position) const;

  /// Adds the storage that the command is the first to use.
  void start(Position position) { bytes += fresh[position]; }
  /// Subtracts the storage that the command is the last to use, unless a collective after `ended` uses it too.
  void end(Position position, Position ended);
  /// Subtracts the storage of commands that are over and of collectives up to `ended`.
  void waitFor(Position ended);

  int64_t getBytes() const { return bytes; }
  /// Returns the first collective up to `most` after whose end at most `limit` bytes are in use. If none frees enough,
  /// returns the last that frees storage, or kNone.
  Position findWait(int64_t limit, Position most) const;

private:
  /// Storage whose last use is over except for a collective.
  struct Dying {
    Position collective;
    int64_t bytes;
  };
  std::vector<int64_t> fresh;
  std::vector<SmallVector<Dying, 2>> dying;
  int64_t bytes = 0;
  /// The bytes that computation cannot use before it has waited for a collective.
  std::map<Position, int64_t> held;
};

/// Finds the edges.
///
/// Each stream runs its commands in order. With two streams, the clock of one of them is therefore one number, the last
/// command of the other that it has waited for: that command can only have waited for the stream's own past.
class EdgeFinder {
public:
  EdgeFinder(ArrayRef<CommandOpInterface> commands, int64_t largestLiveSet)
      : commands(commands), largestLiveSet(largestLiveSet), arena(commands) {}

  std::vector<StreamEdge> find();

private:
  void visit(Position position);
  void visitCollective(Position position);
  void visitComputation(Position position);
  void addEdge(Stream stream, Position position, Position need, int64_t bytesWithout = 0);
  Position findDependence(CommandOpInterface command, Stream stream);
  void recordAccesses(CommandOpInterface command, Stream stream, Position position);

  ArrayRef<CommandOpInterface> commands;
  int64_t largestLiveSet;
  ArenaUse arena;
  llvm::DenseMap<const void *, StreamAccesses> accesses;
  Position latestComputation = kNone;
  /// For each stream, the last command of the other that has ended when its next command starts.
  std::array<Position, kNumStreams> known{kNone, kNone};
  /// The last two collectives that free memory.
  Position lastFreeing = kNone, secondLastFreeing = kNone;
  std::vector<StreamEdge> edges;
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

ArenaUse::ArenaUse(ArrayRef<CommandOpInterface> commands) : fresh(commands.size()), dying(commands.size()) {
  struct Uses {
    Position last, lastCollective = kNone;
  };
  llvm::MapVector<ArenaOpInterface, Uses> uses;
  for (auto [index, each] : llvm::enumerate(commands)) {
    CommandOpInterface command = each;
    auto position = static_cast<Position>(index);
    auto use = [&](Value buffer) {
      auto storage = dyn_cast<ArenaOpInterface>(getStorage(buffer).getOperation());
      if (!storage)
        return;
      auto [found, isNew] = uses.try_emplace(storage);
      if (isNew)
        fresh[position] += getStorageBytes(storage.getBuffer().getType());
      found->second.last = position;
      if (communicates(command))
        found->second.lastCollective = position;
    };
    llvm::for_each(command.getReads(), use);
    llvm::for_each(command.getWrites(), use);
  }
  for (auto &[used, when] : uses) {
    ArenaOpInterface storage = used;
    if (!storage.outlivesCommands())
      dying[when.last].push_back({when.lastCollective, getStorageBytes(storage.getBuffer().getType())});
  }
}

int64_t ArenaUse::getDyingBytes(Position position) const {
  int64_t sum = 0;
  for (const Dying &storage : dying[position])
    sum += storage.bytes;
  return sum;
}

void ArenaUse::end(Position position, Position ended) {
  for (const Dying &storage : dying[position])
    held[storage.collective] += storage.bytes;
  waitFor(ended);
}

void ArenaUse::waitFor(Position ended) {
  while (!held.empty() && held.begin()->first <= ended) {
    bytes -= held.begin()->second;
    held.erase(held.begin());
  }
}

Position ArenaUse::findWait(int64_t limit, Position most) const {
  int64_t left = bytes;
  Position found = kNone;
  for (auto [collective, freed] : held) {
    if (left <= limit || collective > most)
      break;
    left -= freed;
    found = collective;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

/// Returns the last command of the other stream that this one must follow because both access the same storage.
Position EdgeFinder::findDependence(CommandOpInterface command, Stream stream) {
  unsigned other = stream == kComputation ? kCommunication : kComputation;
  Position last = kNone;
  for (Value read : command.getReads())
    last = std::max(last, accesses[getStorageIdentity(read)].write[other]);
  for (Value write : command.getWrites()) {
    const StreamAccesses &earlier = accesses[getStorageIdentity(write)];
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

void EdgeFinder::addEdge(Stream stream, Position position, Position need, int64_t bytesWithout) {
  if (need <= known[stream])
    return;
  edges.push_back({static_cast<unsigned>(need), static_cast<unsigned>(position), bytesWithout});
  known[stream] = need;
}

void EdgeFinder::visitCollective(Position position) {
  Position need = findDependence(commands[position], kCommunication);
  int64_t fresh = arena.getFreshBytes(position);
  // Otherwise the storage would interfere with everything that is in use before.
  if (fresh > 0)
    need = std::max(need, latestComputation);
  addEdge(kCommunication, position, need);
  arena.start(position);
  if (arena.getDyingBytes(position) > fresh) {
    secondLastFreeing = lastFreeing;
    lastFreeing = position;
  }
  recordAccesses(commands[position], kCommunication, position);
}

void EdgeFinder::visitComputation(Position position) {
  Position need = findDependence(commands[position], kComputation), forMemory = kNone;
  arena.waitFor(std::max(need, known[kComputation]));
  arena.start(position);
  int64_t bytes = arena.getBytes();
  if (arena.getFreshBytes(position) > 0)
    forMemory = arena.findWait(largestLiveSet, secondLastFreeing);
  // One wait covers both, because the collectives are on one stream.
  addEdge(kComputation, position, std::max(need, forMemory), forMemory > need ? bytes : 0);
  recordAccesses(commands[position], kComputation, position);
  latestComputation = position;
}

void EdgeFinder::visit(Position position) {
  if (communicates(commands[position]))
    visitCollective(position);
  else
    visitComputation(position);
  arena.end(position, known[kComputation]);
}

std::vector<StreamEdge> EdgeFinder::find() {
  for (size_t position = 0; position < commands.size(); ++position)
    visit(static_cast<Position>(position));
  return std::move(edges);
}

std::vector<StreamEdge> exec::findStreamEdges(ArrayRef<CommandOpInterface> commands, int64_t largestLiveSet) {
  return EdgeFinder(commands, largestLiveSet).find();
}
