//===- Lifetimes.cpp - When places in the arena hold values -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

const void *exec::getStorageIdentity(Value buffer) {
  Operation *storage = getStorage(buffer);
  if (auto get = dyn_cast_if_present<GetOp>(storage))
    return get.getVariableAttr().getAttr().getAsOpaquePointer();
  return storage;
}

namespace {
/// The latest accesses of a piece of storage.
struct Accesses {
  std::optional<unsigned> lastWrite;
  /// The last read on each stream since that write.
  llvm::SmallDenseMap<unsigned, unsigned, 2> reads;
};

/// Follows an entry's commands and records the accesses to each storage.
class LifetimeBuilder {
public:
  LifetimeBuilder(const HappensBefore &order) : order(order) {}

  LogicalResult access(Value buffer, unsigned position, bool isWrite);
  std::vector<Lifetime> takeLifetimes();

private:
  LogicalResult checkOrder(Accesses &accesses, unsigned position, bool isWrite);
  void extendLifetime(ArenaOpInterface storage, unsigned position);

  const HappensBefore &order;
  llvm::DenseMap<const void *, Accesses> storage;
  llvm::DenseMap<Operation *, unsigned> lifetimeOf;
  std::vector<Lifetime> lifetimes;
};
} // namespace

/// A write must follow the accesses since the last write, and a read must follow the last write. By transitivity, both
/// follow all earlier accesses too.
LogicalResult LifetimeBuilder::checkOrder(Accesses &accesses, unsigned position, bool isWrite) {
  auto check = [&](unsigned earlier) -> LogicalResult {
    if (earlier == position || order.isBefore(earlier, position))
      return success();
    CommandOpInterface command = order.getCommands()[position], other = order.getCommands()[earlier];
    InFlightDiagnostic diagnostic = command->emitError()
                                    << "'" << command->getName() << "' on stream " << command.getStream()
                                    << (isWrite ? " writes" : " reads") << " storage that stream " << other.getStream()
                                    << " may still be using; record an event there and wait for it";
    diagnostic.attachNote(other->getLoc()) << "the other command is here";
    return diagnostic;
  };
  if (accesses.lastWrite && failed(check(*accesses.lastWrite)))
    return failure();
  if (!isWrite) {
    accesses.reads[order.getStream(position)] = position;
    return success();
  }
  for (auto [stream, read] : accesses.reads)
    if (failed(check(read)))
      return failure();
  accesses.reads.clear();
  accesses.lastWrite = position;
  return success();
}

void LifetimeBuilder::extendLifetime(ArenaOpInterface storage, unsigned position) {
  auto [index, isNew] = lifetimeOf.try_emplace(storage, lifetimes.size());
  if (isNew) {
    Lifetime &lifetime = lifetimes.emplace_back();
    lifetime.storage = storage;
    lifetime.bytes = getStorageBytes(storage.getBuffer().getType());
    lifetime.first = position;
  }
  Lifetime &lifetime = lifetimes[index->second];
  lifetime.last = position;
  if (order.getNumStreams() == 1)
    return;
  auto isSameStream = [&](unsigned other) { return order.getStream(other) == order.getStream(position); };
  auto *found = llvm::find_if(lifetime.lastOfStreams, isSameStream);
  if (found != lifetime.lastOfStreams.end()) {
    *found = position;
    return;
  }
  lifetime.firstOfStreams.push_back(position);
  lifetime.lastOfStreams.push_back(position);
}

LogicalResult LifetimeBuilder::access(Value buffer, unsigned position, bool isWrite) {
  if (auto planned = dyn_cast<ArenaOpInterface>(getStorage(buffer).getOperation()))
    extendLifetime(planned, position);
  if (order.getNumStreams() == 1)
    return success();
  return checkOrder(storage[getStorageIdentity(buffer)], position, isWrite);
}

std::vector<Lifetime> LifetimeBuilder::takeLifetimes() {
  // If its last use is the entry's last command, no later allocation can be disjoint from it in any order.
  for (Lifetime &lifetime : lifetimes)
    if (lifetime.storage.outlivesCommands())
      lifetime.last = order.getCommands().size() - 1;
  return std::move(lifetimes);
}

FailureOr<std::vector<Lifetime>> exec::computeLifetimes(EntryOp entry, const HappensBefore &order) {
  LifetimeBuilder builder(order);
  for (auto [position, command] : llvm::enumerate(order.getCommands())) {
    for (Value buffer : const_cast<CommandOpInterface &>(command).getReads())
      if (failed(builder.access(buffer, position, /*isWrite=*/false)))
        return failure();
    for (Value buffer : const_cast<CommandOpInterface &>(command).getWrites())
      if (failed(builder.access(buffer, position, /*isWrite=*/true)))
        return failure();
  }
  return builder.takeLifetimes();
}

bool exec::interferes(const Lifetime &a, const Lifetime &b, const HappensBefore &order) {
  const Lifetime &earlier = a.first <= b.first ? a : b, &later = a.first <= b.first ? b : a;
  if (earlier.last >= later.first)
    return true;
  // The order of the entry is one valid order, so only the other valid orders remain to be checked.
  for (unsigned last : earlier.lastOfStreams)
    for (unsigned first : later.firstOfStreams)
      if (!order.isBefore(last, first))
        return true;
  return false;
}
