//===- GatherAheadPass.cpp - Gathers for the next step --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UpdateOrder.h"
#include "cs336/Dialect/Exec/Transforms/CollectiveOrder.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "cs336/Dialect/Exec/Transforms/LiveSets.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/FormatVariadic.h"

namespace cs336::exec {
#define GEN_PASS_DEF_GATHERAHEADPASS
#include "cs336/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cs336::exec

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions gatherAheadRemarks("exec-gather-ahead");
static constexpr StringRef prepareName = "prepare";

namespace {
/// Finds the gathers of an entry that the run before can do.
class UnitFinder {
public:
  UnitFinder(EntryOp entry, ArrayRef<CommandOpInterface> commands);
  SmallVector<UpdateUnit> find() const;

private:
  /// The commands that access a variable.
  struct Uses {
    SmallVector<unsigned> writesOfPart;
    unsigned gathers = 0;
  };
  std::optional<UpdateUnit> read(CollectiveOp gather, unsigned position) const;

  ArrayRef<CommandOpInterface> commands;
  const SymbolTable symbols;
  llvm::DenseMap<StringAttr, Uses> uses;
  /// Variables that other entries write, except those of mode `prepare`.
  llvm::DenseSet<StringAttr> writtenElsewhere;
};

struct GatherAheadPass : exec::impl::GatherAheadPassBase<GatherAheadPass>, CountingPass {
  using GatherAheadPassBase::GatherAheadPassBase;

  void runOnOperation() override;

private:
  void run(EntryOp entry);
  bool move(EntryOp entry, ArrayRef<CommandOpInterface> commands, ArrayRef<unsigned> order);
  FailureOr<EntryOp> findPrepare();
  void gatherInPrepare(EntryOp prepare, ArrayRef<UpdateUnit> units);

  PassCounter numGathers{this, "num-gathers", "Number of collectives moved to the end of the run before"};
};
} // namespace

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// Returns the operation that names the buffer's storage if it is a variable, or null.
static GetOp getVariableStorage(Value buffer) { return dyn_cast_if_present<GetOp>(getStorage(buffer).getOperation()); }

UnitFinder::UnitFinder(EntryOp entry, ArrayRef<CommandOpInterface> commands)
    : commands(commands), symbols(entry->getParentOp()) {
  for (auto [position, each] : llvm::enumerate(commands)) {
    CommandOpInterface command = each;
    for (Value write : command.getWrites())
      if (GetOp variable = getVariableStorage(write)) {
        Uses &itsUses = uses[variable.getVariableAttr().getAttr()];
        if (variable.getGathered())
          ++itsUses.gathers;
        else
          itsUses.writesOfPart.push_back(position);
      }
  }
  for (auto other : entry->getParentOfType<ModuleOp>().getOps<EntryOp>()) {
    if (other == entry || other.getMode() == Mode::Prepare)
      continue;
    for (auto command : other.getBody().getOps<CommandOpInterface>())
      for (Value write : command.getWrites())
        if (GetOp variable = getVariableStorage(write))
          writtenElsewhere.insert(variable.getVariableAttr().getAttr());
  }
}

std::optional<UpdateUnit> UnitFinder::read(CollectiveOp gather, unsigned position) const {
  UpdateUnit unit{gather, position, {}, 0};
  for (auto [source, target] : llvm::zip_equal(gather.getSources(), gather.getTargets())) {
    auto part = source.getDefiningOp<GetOp>();
    auto whole = target.getDefiningOp<GetOp>();
    if (!part || !whole || !whole.getGathered() || part.getVariable() != whole.getVariable())
      return std::nullopt;
    StringAttr name = part.getVariableAttr().getAttr();
    const Uses &itsUses = uses.at(name); // The gather itself is one.
    // The commands that read the parts of all ranks are between the gather and the updates.
    bool isUpdatedLater = llvm::all_of(itsUses.writesOfPart, [&](unsigned update) { return update > position; });
    if (itsUses.gathers != 1 || !isUpdatedLater || writtenElsewhere.contains(name))
      return std::nullopt;
    llvm::append_range(unit.updates, itsUses.writesOfPart);
    auto bytes = static_cast<double>(getStorageBytes(symbols.lookup<VariableOp>(name).getBufferType()));
    unit.sentBytes += bytes * static_cast<double>(gather.getGroup() - 1);
  }
  llvm::sort(unit.updates);
  unit.updates.erase(llvm::unique(unit.updates), unit.updates.end());
  return unit;
}

SmallVector<UpdateUnit> UnitFinder::find() const {
  SmallVector<UpdateUnit> units;
  for (unsigned position = 0; position < commands.size(); ++position)
    if (auto gather = dyn_cast<CollectiveOp>(CommandOpInterface(commands[position]).getOperation());
        gather && gather.getKind() == CollectiveKind::AllGather)
      if (std::optional<UpdateUnit> unit = read(gather, position))
        units.push_back(std::move(*unit));
  return units;
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// Gives the entry's commands an order of their positions. Returns false, and moves nothing, if the largest live set
/// would grow.
bool GatherAheadPass::move(EntryOp entry, ArrayRef<CommandOpInterface> commands, ArrayRef<unsigned> order) {
  SmallVector<unsigned> places(order.size());
  for (auto [place, position] : llvm::enumerate(order))
    places[position] = place;
  if (!LiveSets(commands).tryMove(places))
    return false;
  // Definitions of buffers stay where they are, before all commands.
  Block &body = entry.getBody().front();
  for (unsigned position : order)
    commands[position]->moveBefore(&body, body.end());
  return true;
}

/// Returns the entry that runs after callers have set variables, or null if there is none. Fails if its name belongs to
/// another operation.
FailureOr<EntryOp> GatherAheadPass::findPrepare() {
  Operation *named = SymbolTable(getOperation()).lookup(prepareName);
  auto prepare = dyn_cast_if_present<EntryOp>(named);
  if (named && (!prepare || prepare.getMode() != Mode::Prepare))
    return failure();
  return prepare;
}

/// Gathers the parts of the units after callers have set variables.
void GatherAheadPass::gatherInPrepare(EntryOp prepare, ArrayRef<UpdateUnit> units) {
  OpBuilder builder(&getContext());
  if (!prepare) {
    ModuleOp module = getOperation();
    prepare = EntryOp::create(builder, module.getLoc(), prepareName, Mode::Prepare, IntegerAttr(), IntegerAttr());
    prepare.getBody().emplaceBlock();
    module.push_back(prepare);
  }
  builder.setInsertionPointToEnd(&prepare.getBody().front());
  for (const UpdateUnit &unit : units) {
    IRMapping mapping;
    for (Value operand : unit.gather->getOperands())
      mapping.map(operand, builder.clone(*operand.getDefiningOp())->getResult(0));
    builder.clone(*unit.gather, mapping);
  }
}

/// Returns how many first units send at most this percentage of the bytes of all units: at least one, if there is one.
static size_t countFirst(ArrayRef<UpdateUnit> units, double percent) {
  if (units.empty())
    return 0;
  double all = 0;
  for (const UpdateUnit &unit : units)
    all += unit.sentBytes;
  double sent = units.front().sentBytes;
  size_t count = 1;
  while (count < units.size() && sent + units[count].sentBytes <= all * percent / 100)
    sent += units[count++].sentBytes;
  return count;
}

void GatherAheadPass::run(EntryOp entry) {
  SymbolTable symbols(getOperation());
  auto getVariable = [&](GetOp get) { return symbols.lookup<VariableOp>(get.getVariable()); };
  // The pass has run already.
  if (llvm::any_of(entry.getBody().getOps<GetOp>(), [&](GetOp get) { return getVariable(get).getKept(); }))
    return;
  auto commands = llvm::to_vector(entry.getBody().getOps<CommandOpInterface>());
  SmallVector<UpdateUnit> units = UnitFinder(entry, commands).find();
  if (units.empty())
    return;
  // Gathers of variables that no command updates have no other place in this entry.
  auto fixed =
      llvm::to_vector(llvm::make_filter_range(units, [](const UpdateUnit &unit) { return unit.updates.empty(); }));
  llvm::erase_if(units, [](const UpdateUnit &unit) { return unit.updates.empty(); });
  UpdateOrder order(entry, commands, units, linkRatio);
  size_t count = order.chooseCount(countFirst(units, percent));
  SmallVector<UpdateUnit> ahead = fixed;
  llvm::append_range(ahead, ArrayRef(units).take_front(count));
  size_t all = fixed.size() + units.size();
  auto missed = [&](StringRef name, StringRef why) {
    remark::missed(entry.getLoc(), gatherAheadRemarks(name))
        << remark::add("@{0}: its {1} gathers stay at its start: {2}", entry.getSymName(), all, why);
  };
  if (ahead.empty())
    return missed("NotAhead", "the step would not be faster if the step before did the first");
  FailureOr<EntryOp> prepare = findPrepare();
  if (failed(prepare))
    return missed("NotPrepared", "@prepare is not an entry of mode prepare, which would gather after callers set "
                                 "variables");
  if (!move(entry, commands, order.order(count)))
    return missed("KeptOrder", "in another order the updates would raise the largest live set");
  gatherInPrepare(*prepare, ahead);

  for (const UpdateUnit &unit : ahead) {
    CollectiveOp gather = unit.gather;
    for (Value part : gather.getSources())
      getVariable(part.getDefiningOp<GetOp>()).setKept(true);
  }
  for (const UpdateUnit &unit : fixed)
    CollectiveOp(unit.gather)->erase();
  numGathers += ahead.size();
  remark::passed(entry.getLoc(), gatherAheadRemarks("Ahead"))
      << remark::add("@{0}: {1} of {2} gathers follow the updates of their variables, and the next run begins without "
                     "them",
                     entry.getSymName(), ahead.size(), all);
}

void GatherAheadPass::runOnOperation() {
  ModuleOp module = getOperation();
  // The negated comparisons also reject NaN.
  if (!(linkRatio >= 0)) {
    module.emitError() << "link-ratio must not be negative, is " << llvm::formatv("{0}", linkRatio.getValue()).str();
    return signalPassFailure();
  }
  if (percent > 100) {
    module.emitError() << "percent must be at most 100, is " << percent.getValue();
    return signalPassFailure();
  }
  if (percent == 0)
    return;
  for (auto entry : llvm::make_early_inc_range(module.getOps<EntryOp>()))
    if (entry.getMode() == Mode::Train)
      run(entry);
}
