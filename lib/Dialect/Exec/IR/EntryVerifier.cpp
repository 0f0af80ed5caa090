//===- EntryVerifier.cpp - Follows an entry's commands from first to last -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Dialect/Exec/IR/IndexVerifier.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

namespace {
/// The state of an entry's storage and events at one command.
class EntryChecker {
public:
  explicit EntryChecker(EntryOp entry) : entry(entry) {}

  LogicalResult run();

private:
  LogicalResult declare(BufferOpInterface buffer);
  LogicalResult checkCommand(CommandOpInterface command);
  LogicalResult checkAliasing(CommandOpInterface command, ArrayRef<Value> reads, ArrayRef<Value> writes);
  LogicalResult checkEvents(CommandOpInterface command);

  /// Returns the operation that owns the buffer's storage: the same one for every `exec.get` of a variable.
  Operation *getOwner(Value buffer);

  EntryOp entry;
  llvm::DenseMap<StringAttr, Operation *> variables;
  llvm::DenseSet<StringAttr> inputs, outputs;
  llvm::DenseSet<Operation *> written;
  llvm::DenseSet<uint64_t> recorded;
};
} // namespace

Operation *EntryChecker::getOwner(Value buffer) {
  Operation *owner = getStorage(buffer);
  if (auto get = dyn_cast_if_present<GetOp>(owner))
    return variables.try_emplace(get.getVariableAttr().getAttr(), get).first->second;
  return owner;
}

LogicalResult EntryChecker::declare(BufferOpInterface buffer) {
  if (auto input = dyn_cast<InputOp>(*buffer)) {
    if (!inputs.insert(input.getNameAttr()).second)
      return input.emitOpError() << "there are two inputs of this name";
  } else if (auto output = dyn_cast<OutputOp>(*buffer)) {
    if (!outputs.insert(output.getNameAttr()).second)
      return output.emitOpError() << "there are two outputs of this name";
  }
  return success();
}

/// Returns whether the buffer lies in the storage of all parts of a variable.
static bool isGathered(Value buffer) {
  auto get = dyn_cast_if_present<GetOp>(getStorage(buffer).getOperation());
  return get && get.getGathered();
}

/// Returns the type of a buffer, or that of all parts if it is the part of a rank, whose place depends on the rank.
static MemRefType getRange(Value buffer) {
  auto part = buffer.getDefiningOp<PartOp>();
  return bufferType(part ? part.getSource() : buffer);
}

/// Returns whether the ranges from the first to the last element of two buffers of one storage overlap.
static bool rangesOverlap(Value lhs, Value rhs) {
  // The place of a part depends on the rank.
  if (isGathered(lhs) != isGathered(rhs))
    return true;
  MemRefType left = getRange(lhs), right = getRange(rhs);
  return BufferLayout(left).offset <= getLastElement(right) && BufferLayout(right).offset <= getLastElement(left);
}

/// Returns whether `write` is the storage of all parts of a variable, and `read` that of the own part.
static bool isOwnPartOfVariable(Value read, Value write) {
  return read.getDefiningOp<GetOp>() && write.getDefiningOp<GetOp>() && isGathered(write) && !isGathered(read);
}

/// Returns whether the bytes of different parts do not overlap.
static bool areApart(PartOp part) {
  MemRefType type = part.getType();
  int64_t bytes = (getLastElement(type) - BufferLayout(type).offset + 1) * getElementBytes(type.getElementType());
  return bytes <= part.getPartDistance();
}

/// Returns whether `buffer` has the parts of all ranks, and nothing else, in the same order.
static bool holdsParts(PartOp part, Value buffer) {
  MemRefType parts = bufferType(part.getSource()), whole = bufferType(buffer);
  return getStorage(part) == getStorage(buffer) && BufferLayout(parts).offset == BufferLayout(whole).offset &&
         parts.getNumElements() == whole.getNumElements() && dropOffset(parts).getLayout().isIdentity() &&
         dropOffset(whole).getLayout().isIdentity();
}

/// Returns whether the command gathers the own part `read` into the storage `write` of all parts, in which it lies.
static bool gathersInPlace(CommandOpInterface command, Value read, Value write) {
  auto collective = dyn_cast<CollectiveOp>(*command);
  if (!collective || collective.getKind() != CollectiveKind::AllGather || collective.getOthers())
    return false;
  auto part = read.getDefiningOp<PartOp>();
  bool isOwnPart = part && part.getShift() == 0 && holdsParts(part, write);
  return (isOwnPart || isOwnPartOfVariable(read, write)) &&
         llvm::any_of(llvm::zip_equal(collective.getSources(), collective.getTargets()),
                      [&](auto pair) { return std::get<0>(pair) == read && std::get<1>(pair) == write; });
}

/// Verifies that the command reads and writes the same range of storage only through the same buffer. A batched launch
/// has thousands of buffers, so each is compared only with those of its own storage.
LogicalResult EntryChecker::checkAliasing(CommandOpInterface command, ArrayRef<Value> reads, ArrayRef<Value> writes) {
  llvm::SmallDenseMap<Operation *, SmallVector<Value, 2>> readsByOwner, writesByOwner;
  for (Value read : reads)
    readsByOwner[getOwner(read)].push_back(read);
  for (Value write : writes) {
    Operation *owner = getOwner(write);
    bool readsAnother = llvm::any_of(readsByOwner[owner], [&](Value read) {
      return read != write && rangesOverlap(read, write) && !gathersInPlace(command, read, write);
    });
    if (readsAnother)
      return command->emitOpError() << "reads storage that it writes through another view";
    SmallVector<Value, 2> &earlier = writesByOwner[owner];
    if (llvm::any_of(earlier, [&](Value other) { return rangesOverlap(other, write); }))
      return command->emitOpError() << "writes the same storage twice";
    earlier.push_back(write);
  }
  return success();
}

LogicalResult EntryChecker::checkEvents(CommandOpInterface command) {
  if (std::optional<uint64_t> event = command.getAwaitedEvent(); event && !recorded.contains(*event))
    return command->emitOpError() << "waits for event " << *event << ", which no earlier command records";
  if (std::optional<uint64_t> event = command.getRecordedEvent(); event && !recorded.insert(*event).second)
    return command->emitOpError() << "records event " << *event << " a second time";
  return success();
}

LogicalResult EntryChecker::checkCommand(CommandOpInterface command) {
  SmallVector<Value> reads = command.getReads(), writes = command.getWrites();
  for (Value read : reads) {
    BufferOpInterface storage = getStorage(read);
    if (!storage)
      return command->emitOpError() << "reads a value that is not a buffer of the entry";
    // PartsChecker verifies reads of the parts of other ranks.
    bool isGiven = storage.getStorageKind() == StorageKind::Input || storage.getStorageKind() == StorageKind::Variable;
    if (!isGiven && !written.contains(storage.getOperation())) {
      InFlightDiagnostic diagnostic = command->emitOpError() << "reads a buffer that no command has written";
      diagnostic.attachNote(storage->getLoc()) << "the buffer's storage is here";
      return diagnostic;
    }
  }
  if (failed(checkAliasing(command, reads, writes)))
    return failure();
  for (Value write : writes) {
    BufferOpInterface storage = getStorage(write);
    if (!storage)
      return command->emitOpError() << "writes a value that is not a buffer of the entry";
    if (storage.getStorageKind() == StorageKind::Input)
      return command->emitOpError() << "writes an input, which belongs to the caller";
    if (auto part = write.getDefiningOp<PartOp>(); part && !areApart(part))
      return command->emitOpError() << "writes the part of a rank, which shares bytes with other parts";
    written.insert(storage.getOperation());
  }
  return checkEvents(command);
}

LogicalResult EntryChecker::run() {
  if (entry.getName().empty())
    return entry.emitOpError() << "has an empty name";
  for (Operation &op : entry.getBody().front()) {
    if (auto buffer = dyn_cast<BufferOpInterface>(op)) {
      if (failed(declare(buffer)))
        return failure();
    } else if (auto command = dyn_cast<CommandOpInterface>(op)) {
      if (failed(checkCommand(command)))
        return failure();
    } else {
      return op.emitOpError() << "is neither a buffer nor a command: it cannot stand in an entry";
    }
  }
  for (auto output : entry.getBody().getOps<OutputOp>())
    if (!written.contains(output))
      return output.emitOpError() << "no command writes this output";
  return success();
}

LogicalResult EntryOp::verifyRegions() { return EntryChecker(*this).run(); }

/// Returns whether an entry may write a variable: a training step may write all of them, `prepare` all but parameters,
/// and an evaluation none.
static bool mayWrite(Mode mode, VariableKind kind) {
  return mode == Mode::Train || (mode == Mode::Prepare && kind != VariableKind::Parameter);
}

/// Returns whether `write` is the storage of all parts of a variable, into which the command gathers its part.
static bool gathersInPlace(CommandOpInterface command, Value write) {
  return llvm::any_of(command.getReads(), [&](Value read) {
    return isOwnPartOfVariable(read, write) && gathersInPlace(command, read, write) &&
           read.getDefiningOp<GetOp>().getVariable() == write.getDefiningOp<GetOp>().getVariable();
  });
}

namespace {
/// Follows the parts of other ranks through an entry.
class PartsChecker {
public:
  PartsChecker(EntryOp entry, SymbolTableCollection &symbols);

  LogicalResult run();

private:
  LogicalResult checkRead(CommandOpInterface command, Value read);
  LogicalResult checkEnd();

  EntryOp entry;
  ModuleOp module;
  /// An entry gathers the parts of kept variables after callers have set them.
  bool hasPrepare;
  /// Variables with storage for the parts of other ranks.
  llvm::DenseMap<StringAttr, VariableOp> gathered;
  /// The variables that a command has gathered, and those whose own part was written since.
  llvm::DenseSet<StringAttr> current, outdated;
  /// The operations that name storage into which a command has gathered. A second gather has its own.
  llvm::DenseSet<Operation *> targets;
};
} // namespace

PartsChecker::PartsChecker(EntryOp entry, SymbolTableCollection &symbols)
    : entry(entry), module(entry->getParentOfType<ModuleOp>()),
      hasPrepare(
          llvm::any_of(module.getOps<EntryOp>(), [](EntryOp other) { return other.getMode() == Mode::Prepare; })) {
  for (auto get : entry.getBody().getOps<GetOp>())
    if (auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(get, get.getVariableAttr()))
      if (variable.getGathered())
        gathered[variable.getSymNameAttr()] = variable;
}

LogicalResult PartsChecker::checkRead(CommandOpInterface command, Value read) {
  auto get = dyn_cast_if_present<GetOp>(getStorage(read).getOperation());
  if (!get || !get.getGathered())
    return success();
  StringAttr name = get.getVariableAttr().getAttr();
  VariableOp variable = gathered.lookup(name);
  bool isKept = variable && variable.getKept() && hasPrepare && entry.getMode() != Mode::Prepare;
  if (!outdated.contains(name) && (isKept || targets.contains(get)))
    return success();
  InFlightDiagnostic diagnostic = command->emitOpError()
                                  << "reads the parts of other ranks, which no command has gathered";
  diagnostic.attachNote(get.getLoc()) << "the buffer's storage is here";
  return diagnostic;
}

LogicalResult PartsChecker::checkEnd() {
  for (StringAttr name : outdated)
    if (gathered.lookup(name).getKept())
      return entry.emitOpError() << "writes " << name << ", but does not gather its parts afterwards";
  if (entry.getMode() != Mode::Prepare)
    return success();
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getKept() && !current.contains(variable.getSymNameAttr()))
      return entry.emitOpError() << "does not gather the parts of " << variable.getSymNameAttr()
                                 << ", which other entries read";
  return success();
}

LogicalResult PartsChecker::run() {
  for (auto command : entry.getBody().getOps<CommandOpInterface>()) {
    for (Value read : command.getReads())
      if (failed(checkRead(command, read)))
        return failure();
    for (Value write : command.getWrites()) {
      auto get = dyn_cast_if_present<GetOp>(getStorage(write).getOperation());
      if (!get || !gathered.contains(get.getVariableAttr().getAttr()))
        continue;
      StringAttr name = get.getVariableAttr().getAttr();
      if (get.getGathered()) {
        targets.insert(get);
        current.insert(name);
        outdated.erase(name);
      } else {
        current.erase(name);
        outdated.insert(name);
      }
    }
  }
  return checkEnd();
}

LogicalResult EntryOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto command : getBody().getOps<CommandOpInterface>())
    for (Value write : command.getWrites()) {
      auto get = dyn_cast_if_present<GetOp>(getStorage(write).getOperation());
      auto variable = get ? symbols.lookupNearestSymbolFrom<VariableOp>(get, get.getVariableAttr()) : VariableOp();
      // The verifier of `exec.get` rejects unknown variables. `prepare` may gather parts, which changes none.
      bool changesNone = getMode() == Mode::Prepare && gathersInPlace(command, write);
      if (variable && !changesNone && !mayWrite(getMode(), variable.getKind()))
        return command->emitOpError() << "writes " << stringifyVariableKind(variable.getKind()) << ' '
                                      << get.getVariableAttr() << ", which an entry of mode "
                                      << stringifyMode(getMode()) << " must leave as it is";
    }
  if (failed(PartsChecker(*this, symbols).run()))
    return failure();
  return verifyIndices(*this, symbols, [](LaunchOp, ArrayRef<IntegerValueRange>) {});
}
