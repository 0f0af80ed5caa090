//===- GatherInPlacePass.cpp - Gather parts around the own part -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/Transforms/ArenaPacking.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/IR/SymbolTable.h"

namespace cs336::exec {
#define GEN_PASS_DEF_GATHERINPLACEPASS
#include "cs336/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cs336::exec

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions gatherInPlaceRemarks("exec-gather-in-place");

namespace {
/// An operand of an all-gather: a part of a variable, and the allocation that receives all parts.
struct Gather {
  CollectiveOp collective;
  VariableOp variable;
  AllocOp target;
};

/// Finds the operands of an entry that can be gathered in place.
class GatherFinder {
public:
  GatherFinder(EntryOp entry, const SymbolTable &symbols);
  SmallVector<Gather> find();

private:
  std::optional<Gather> match(CollectiveOp collective, Value source, Value target) const;
  bool isOnlyWrittenBy(AllocOp target, CollectiveOp collective) const;
  bool isUnchanged(Gather gather) const;

  EntryOp entry;
  const SymbolTable &symbols;
  /// Positions of the commands, and by storage the positions of those that write it and of the last one that uses it.
  llvm::DenseMap<Operation *, unsigned> positions;
  llvm::DenseMap<const void *, SmallVector<unsigned>> writes;
  llvm::DenseMap<const void *, unsigned> lastUses;
};

struct GatherInPlacePass : exec::impl::GatherInPlacePassBase<GatherInPlacePass>, CountingPass {
  using GatherInPlacePassBase::GatherInPlacePassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto entry : getOperation().getOps<EntryOp>())
      if (entry.getMode() == Mode::Train && failed(run(entry, symbols)))
        return signalPassFailure();
  }

private:
  LogicalResult run(EntryOp entry, const SymbolTable &symbols);

  PassCounter numOperands{this, "num-operands", "Number of operands of all-gathers in place"};
};
} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

GatherFinder::GatherFinder(EntryOp entry, const SymbolTable &symbols) : entry(entry), symbols(symbols) {
  unsigned position = 0;
  for (auto command : entry.getBody().getOps<CommandOpInterface>()) {
    positions[command] = ++position;
    for (Value buffer : command.getReads())
      lastUses[getStorageIdentity(buffer)] = position;
    for (Value buffer : command.getWrites()) {
      lastUses[getStorageIdentity(buffer)] = position;
      writes[getStorageIdentity(buffer)].push_back(position);
    }
  }
}

bool GatherFinder::isOnlyWrittenBy(AllocOp target, CollectiveOp collective) const {
  return writes.lookup(getStorageIdentity(target)) == SmallVector<unsigned>{positions.lookup(collective)};
}

/// Returns whether the own part keeps the gathered values until the last command that uses them.
bool GatherFinder::isUnchanged(Gather gather) const {
  unsigned begin = positions.lookup(gather.collective), end = lastUses.lookup(getStorageIdentity(gather.target));
  const void *variable = gather.variable.getSymNameAttr().getAsOpaquePointer();
  return llvm::none_of(writes.lookup(variable), [&](unsigned write) { return begin <= write && write <= end; });
}

std::optional<Gather> GatherFinder::match(CollectiveOp collective, Value source, Value target) const {
  auto part = source.getDefiningOp<GetOp>();
  auto whole = target.getDefiningOp<AllocOp>();
  if (!part || !whole)
    return std::nullopt;
  auto variable = symbols.lookup<VariableOp>(part.getVariable());
  // The target has the whole's type, unless the group is not that of the variable's parts.
  if (variable.getNumShards() == 1 || whole.getType() != variable.getWholeType() ||
      getStorageBytes(variable.getBufferType()) % VariableOp::kPartAlignment != 0)
    return std::nullopt;
  Gather gather{collective, variable, whole};
  return isOnlyWrittenBy(whole, collective) && isUnchanged(gather) ? std::optional(gather) : std::nullopt;
}

SmallVector<Gather> GatherFinder::find() {
  SmallVector<Gather> result;
  for (auto collective : entry.getBody().getOps<CollectiveOp>()) {
    if (collective.getKind() != CollectiveKind::AllGather)
      continue;
    for (auto [source, target] : llvm::zip_equal(collective.getSources(), collective.getTargets()))
      if (std::optional<Gather> gather = match(collective, source, target))
        result.push_back(*gather);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// Bytes of an entry: its largest live set, and what the variables take in addition.
struct Memory {
  int64_t before = 0, after = 0;
};
} // namespace

static FailureOr<Memory> compareMemory(EntryOp entry, ArrayRef<Gather> gathers) {
  HappensBefore order(entry);
  FailureOr<std::vector<Lifetime>> lifetimes = computeLifetimes(entry, order);
  if (failed(lifetimes))
    return failure();
  llvm::SmallPtrSet<Operation *, 16> targets;
  llvm::SmallPtrSet<Operation *, 16> variables;
  Memory memory;
  for (Gather gather : gathers) {
    targets.insert(gather.target);
    if (!gather.variable.getGathered() && variables.insert(gather.variable).second)
      memory.after +=
          getStorageBytes(gather.variable.getWholeType()) - getStorageBytes(gather.variable.getBufferType());
  }
  std::vector<ArenaBlock> all, rest;
  for (const Lifetime &lifetime : *lifetimes) {
    all.push_back({lifetime.bytes, lifetime.first, lifetime.last});
    if (!targets.contains(lifetime.storage))
      rest.push_back(all.back());
  }
  memory.before = getLargestLiveSet(all);
  memory.after += getLargestLiveSet(rest);
  return memory;
}

LogicalResult GatherInPlacePass::run(EntryOp entry, const SymbolTable &symbols) {
  SmallVector<Gather> gathers = GatherFinder(entry, symbols).find();
  if (gathers.empty())
    return success();
  FailureOr<Memory> memory = compareMemory(entry, gathers);
  if (failed(memory))
    return failure();
  if (memory->after > memory->before) {
    remark::missed(entry.getLoc(), gatherInPlaceRemarks("KeptCopies"))
        << remark::add("{0}: {1} operands are gathered into the arena: in place, the largest live set and the gathered "
                       "variables would grow from {2} to {3} bytes",
                       entry.getName(), gathers.size(), memory->before, memory->after);
    return success();
  }
  int64_t bytes = 0;
  for (Gather gather : gathers) {
    OpBuilder builder(gather.target);
    auto whole = GetOp::create(builder, gather.target.getLoc(), gather.target.getType(), gather.variable.getSymName(),
                               /*gathered=*/true);
    gather.target.replaceAllUsesWith(whole.getResult());
    gather.target.erase();
    gather.variable.setGathered(true);
    bytes += getStorageBytes(gather.variable.getWholeType());
  }
  numOperands += gathers.size();
  remark::passed(entry.getLoc(), gatherInPlaceRemarks("InPlace"))
      << remark::add("{0}: {1} operands of all-gathers, {2} bytes, surround the own parts of variables",
                     entry.getName(), gathers.size(), bytes);
  return success();
}
