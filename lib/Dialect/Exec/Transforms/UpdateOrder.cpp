//===- UpdateOrder.cpp - The order of updates and gathers -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UpdateOrder.h"

#include "cs336/Dialect/Exec/Transforms/CollectiveOrder.h"
#include "cs336/Dialect/Exec/Transforms/CommandWork.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

/// The first updates have at least one of this many parts of all bytes, if others wait for collectives meanwhile.
static constexpr double kFirstFraction = 8;

/// An order is better only if it saves more than this fraction of the time.
static constexpr double kLeastSaving = 1e-4;

UpdateOrder::UpdateOrder(EntryOp entry, ArrayRef<CommandOpInterface> commands, ArrayRef<UpdateUnit> units,
                         double linkRatio)
    : commands(commands), units(units), simulation(entry, commands, linkRatio),
      latest(findLatestCollectives(commands)) {
  WorkCounter counter(entry);
  for (auto [position, command] : llvm::enumerate(commands)) {
    if (communicates(command))
      begin = position + 1;
    bytes.push_back(counter.measure(command).bytes);
  }
  for (double each : ArrayRef(bytes).drop_front(begin))
    totalBytes += each;
}

bool UpdateOrder::isUpdatedFirst(size_t unit) const { return units[unit].updates.back() < begin; }

unsigned UpdateOrder::getReadiness(size_t unit) const {
  unsigned readiness = 0;
  for (unsigned update : units[unit].updates)
    readiness = std::max(readiness, latest[update]);
  return readiness;
}

/// Collects positions. Places each command after the last collective once, and the commands that it depends on before
/// it.
class UpdateOrder::Builder {
public:
  explicit Builder(const UpdateOrder &order) : order(order), isPlaced(order.commands.size()) {}

  void placeCommands(ArrayRef<unsigned> numbers);
  void placeUnits(ArrayRef<size_t> numbers);
  void placeFirst(size_t count);
  void placeRest() { placeCommands(llvm::to_vector(llvm::seq<unsigned>(order.begin, order.commands.size()))); }

  double getBytes() const { return bytes; }
  SmallVector<unsigned> take() { return std::move(positions); }

private:
  const UpdateOrder &order;
  SmallVector<unsigned> positions;
  llvm::BitVector isPlaced;
  double bytes = 0;
};

void UpdateOrder::Builder::placeCommands(ArrayRef<unsigned> numbers) {
  llvm::BitVector needed(order.commands.size());
  for (unsigned position : numbers)
    needed.set(position);
  llvm::DenseSet<const void *> reads, writes;
  auto isIn = [](const llvm::DenseSet<const void *> &set) {
    return [&set](Value buffer) { return set.contains(getStorageIdentity(buffer)); };
  };
  for (unsigned position = order.commands.size(); position-- > order.begin;) {
    CommandOpInterface command = order.commands[position];
    if (isPlaced.test(position))
      continue;
    SmallVector<Value> itsReads = command.getReads(), itsWrites = command.getWrites();
    if (!needed.test(position) && llvm::none_of(itsReads, isIn(writes)) && llvm::none_of(itsWrites, isIn(writes)) &&
        llvm::none_of(itsWrites, isIn(reads)))
      continue;
    needed.set(position);
    for (Value read : itsReads)
      reads.insert(getStorageIdentity(read));
    for (Value write : itsWrites)
      writes.insert(getStorageIdentity(write));
  }
  for (unsigned position : needed.set_bits()) {
    if (isPlaced.test(position))
      continue;
    isPlaced.set(position);
    bytes += order.bytes[position];
    positions.push_back(position);
  }
}

void UpdateOrder::Builder::placeUnits(ArrayRef<size_t> numbers) {
  for (size_t number : numbers)
    placeCommands(order.units[number].updates);
  for (size_t number : numbers)
    positions.push_back(order.units[number].position);
}

/// Places the commands up to the last collective, apart from the gathers of the first `count` units. The gathers of
/// units that are updated before follow their updates.
void UpdateOrder::Builder::placeFirst(size_t count) {
  llvm::BitVector isMoved(order.begin);
  llvm::DenseMap<unsigned, SmallVector<unsigned, 1>> followers;
  for (size_t number = 0; number < count; ++number) {
    const UpdateUnit &unit = order.units[number];
    isMoved.set(unit.position);
    if (order.isUpdatedFirst(number))
      followers[unit.updates.back()].push_back(unit.position);
  }
  for (unsigned position = 0; position < order.begin; ++position) {
    isPlaced.set(position);
    if (!isMoved.test(position))
      positions.push_back(position);
    llvm::append_range(positions, followers.lookup(position));
  }
}

SmallVector<unsigned> UpdateOrder::order(size_t count) const {
  auto numbers =
      llvm::filter_to_vector(llvm::seq<size_t>(0, count), [&](size_t unit) { return !isUpdatedFirst(unit); });
  llvm::stable_sort(numbers, [&](size_t lhs, size_t rhs) { return getReadiness(lhs) < getReadiness(rhs); });
  size_t half = numbers.size() / 2;
  ArrayRef<size_t> early = ArrayRef(numbers).take_front(half), late = ArrayRef(numbers).drop_front(half);

  Builder alone(*this);
  alone.placeUnits(early);
  double enough = totalBytes / kFirstFraction - alone.getBytes();
  auto others = llvm::to_vector(llvm::seq<size_t>(count, units.size()));
  llvm::stable_sort(others, [&](size_t lhs, size_t rhs) { return getReadiness(lhs) < getReadiness(rhs); });

  Builder builder(*this);
  builder.placeFirst(count);
  for (size_t other : others)
    if (!late.empty() && builder.getBytes() < enough && getReadiness(other) < getReadiness(late.back()))
      builder.placeCommands(units[other].updates);
  builder.placeUnits(early);
  builder.placeUnits(late);
  builder.placeRest();
  return builder.take();
}

size_t UpdateOrder::chooseCount(size_t most) const {
  size_t best = 0;
  double least = simulation.run(order(best));
  for (size_t count = 1; count <= std::min(most, units.size()); ++count) {
    double seconds = simulation.run(order(count));
    if (seconds >= least * (1 - kLeastSaving))
      continue;
    least = seconds;
    best = count;
  }
  return best;
}
