//===- IndexVerifier.cpp - Kernels stay inside of their buffers -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows an entry's commands and tracks the range of integers in each storage. Storage without a tracked range can
// hold any integer: variables, data from other ranks, floating-point numbers.
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/IR/IndexVerifier.h"

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Dialect/CS336/IR/IntegerRanges.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static bool holdsIntegers(Value buffer) { return bufferType(buffer).getElementType().isSignlessInteger(); }

/// Returns whether the buffer covers its whole storage.
static bool coversStorage(Value buffer) {
  MemRefType storage = getStorage(buffer).getBuffer().getType();
  return dropOffset(bufferType(buffer)).getLayout().isIdentity() &&
         bufferType(buffer).getNumElements() == storage.getNumElements();
}

/// Returns whether two allocations share a byte of the arena. Without a memory plan they do not.
static bool overlap(ArenaOpInterface a, ArenaOpInterface b) {
  if (!a.getOffset() || !b.getOffset())
    return false;
  auto end = [](ArenaOpInterface place) { return *place.getOffset() + getStorageBytes(place.getBuffer().getType()); };
  return *a.getOffset() < end(b) && *b.getOffset() < end(a);
}

namespace {
class IndexVerifier {
public:
  IndexVerifier(EntryOp entry, SymbolTableCollection &symbols, LaunchRangesVisitor visitRanges)
      : entry(entry), symbols(symbols), visitRanges(visitRanges) {}

  LogicalResult run();

private:
  using Indices = SmallVector<std::pair<IndexingOpInterface, IndexUse>, 1>;

  LogicalResult visit(LaunchOp launch);
  LogicalResult emitError(LaunchOp launch, IndexingOpInterface op, const IndexUse &use);
  const Indices &getIndices(KernelOp kernel);
  /// Returns the range that a command reads from a buffer. The same command may write other allocations over these
  /// bytes.
  IntegerValueRange read(CommandOpInterface command, Value buffer) const;
  void write(Value buffer, const IntegerValueRange &range);

  EntryOp entry;
  SymbolTableCollection &symbols;
  LaunchRangesVisitor visitRanges;
  llvm::DenseMap<KernelOp, Indices> indicesOf;
  /// Inputs with a bound, and allocations in the arena.
  llvm::MapVector<Operation *, ConstantIntRanges> ranges;
};
} // namespace

const IndexVerifier::Indices &IndexVerifier::getIndices(KernelOp kernel) {
  auto [found, isNew] = indicesOf.try_emplace(kernel);
  if (isNew)
    for (auto op : kernel.getBody().getOps<IndexingOpInterface>())
      for (const IndexUse &use : op.getIndexUses())
        found->second.push_back({op, use});
  return found->second;
}

IntegerValueRange IndexVerifier::read(CommandOpInterface command, Value buffer) const {
  BufferOpInterface storage = getStorage(buffer);
  auto found = ranges.find(storage);
  auto place = dyn_cast<ArenaOpInterface>(*storage);
  auto writesOver = [&](Value written) {
    auto other = dyn_cast<ArenaOpInterface>(*getStorage(written));
    return place && other && place != other && overlap(place, other);
  };
  if (found == ranges.end() || llvm::any_of(command.getWrites(), writesOver))
    return IntegerValueRange::getMaxRange(buffer);
  return IntegerValueRange(found->second);
}

void IndexVerifier::write(Value buffer, const IntegerValueRange &range) {
  Operation *storage = getStorage(buffer);
  // Variables have other names, and outlive the entry.
  auto place = dyn_cast<ArenaOpInterface>(storage);
  if (!place)
    return;
  std::optional<ConstantIntRanges> held;
  if (!range.isUninitialized())
    held = range.getValue();
  if (held && !coversStorage(buffer)) {
    auto found = ranges.find(storage);
    held = found == ranges.end() ? std::nullopt : std::optional(held->rangeUnion(found->second));
  }
  ranges.remove_if([&](auto &known) {
    auto other = dyn_cast<ArenaOpInterface>(known.first);
    return known.first == storage || (other && overlap(place, other));
  });
  if (held)
    ranges.insert({storage, *held});
}

LogicalResult IndexVerifier::emitError(LaunchOp launch, IndexingOpInterface op, const IndexUse &use) {
  InFlightDiagnostic diagnostic = launch.emitOpError()
                                  << "runs " << launch.getKernelAttr() << ", where '" << op->getName()
                                  << "' indexes the " << use.bound << ' ' << use.places << " with ";
  diagnostic.attachNote(op->getLoc()) << "the indices are used here";
  auto argument = dyn_cast<BlockArgument>(op->getOperand(use.operand));
  BufferOpInterface storage = argument ? getStorage(launch.getInputs()[argument.getArgNumber()]) : BufferOpInterface();
  auto input = dyn_cast_or_null<InputOp>(storage.getOperation());
  if (!input)
    return diagnostic << "integers without a bound: check them with exec.check_bound";
  diagnostic << "input \"" << input.getName() << "\", ";
  if (std::optional<uint64_t> bound = input.getBound())
    return diagnostic << "whose bound is " << *bound << ": write bound = " << use.bound;
  return diagnostic << "which has no bound: write bound = " << use.bound;
}

LogicalResult IndexVerifier::visit(LaunchOp launch) {
  // The verifier of the launch reports a missing kernel.
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(launch, launch.getKernelAttr());
  bool isWellFormed = kernel && kernel.getInTypes().size() == launch.getInputs().size() &&
                      kernel.getOutTypes().size() == launch.getOutputs().size();
  if (!isWellFormed)
    return success();
  auto getArgumentRange = [&](BlockArgument argument) {
    return read(launch, launch.getInputs()[argument.getArgNumber()]);
  };
  IntegerRanges integers(getArgumentRange);
  for (auto [op, use] : getIndices(kernel))
    if (!isWithin(integers.get(op->getOperand(use.operand)), use.bound))
      return emitError(launch, op, use);
  SmallVector<IntegerValueRange> operands;
  for (Value input : launch.getInputs())
    operands.push_back(holdsIntegers(input) ? read(launch, input) : IntegerValueRange());
  for (auto [output, value] : llvm::zip_equal(launch.getOutputs(), kernel.getYieldedValues()))
    operands.push_back(holdsIntegers(output) ? integers.get(value) : IntegerValueRange());
  for (auto [output, range] :
       llvm::zip_equal(launch.getOutputs(), ArrayRef(operands).drop_front(launch.getInputs().size())))
    write(output, range);
  visitRanges(launch, operands);
  if (launch.getWorkspace())
    write(launch.getWorkspace(), IntegerValueRange());
  return success();
}

LogicalResult IndexVerifier::run() {
  for (auto input : entry.getBody().getOps<InputOp>())
    if (std::optional<uint64_t> bound = input.getBound())
      ranges.insert({input, getRangeBelow(input.getType(), *bound)});
  for (auto command : entry.getBody().getOps<CommandOpInterface>()) {
    LogicalResult visited =
        llvm::TypeSwitch<Operation *, LogicalResult>(command)
            .Case([&](LaunchOp launch) { return visit(launch); })
            .Case([&](CopyOp copy) {
              write(copy.getTarget(),
                    holdsIntegers(copy.getSource()) ? read(copy, copy.getSource()) : IntegerValueRange());
              return success();
            })
            .Case([&](CheckBoundOp check) {
              write(check.getTarget(), IntegerValueRange(getRangeBelow(check.getTarget().getType(), check.getBound())));
              return success();
            })
            .Default([&](Operation *) {
              for (Value buffer : command.getWrites())
                write(buffer, IntegerValueRange());
              return success();
            });
    if (failed(visited))
      return failure();
  }
  return success();
}

LogicalResult exec::verifyIndices(EntryOp entry, SymbolTableCollection &symbols, LaunchRangesVisitor visit) {
  return IndexVerifier(entry, symbols, visit).run();
}
