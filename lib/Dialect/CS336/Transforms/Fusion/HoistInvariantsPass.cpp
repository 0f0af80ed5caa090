//===- HoistInvariantsPass.cpp - Tables computed once ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PrepareFunction.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "cs336/Support/CompletePrinting.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

namespace cs336 {
#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
/// Values of one block that depend on no argument, each with a text that describes how it is computed.
class InvariantAnalysis {
public:
  explicit InvariantAnalysis(Block &block);

  bool isInvariant(Value value) const { return structures.contains(value); }
  /// Returns the name "invariant.<hash>". Equal computations have equal names, in all functions and runs.
  std::string getName(Value value) const;
  /// Returns the FLOPs of all operations from which the value is computed.
  int64_t getFlops(Value value) const;
  /// Returns the values that other operations read and that could be stored, in the order of the block.
  SmallVector<Value> getTables(Block &block) const;

private:
  void collectRoots(Value value, llvm::SetVector<Value> &roots) const;

  /// Returns a hash of the operation, its attributes and types, and the hashes of its operands.
  DenseMap<Value, uint64_t> structures;
};

class HoistInvariantsPass : public cs336::impl::HoistInvariantsPassBase<HoistInvariantsPass>, public CountingPass {
public:
  using HoistInvariantsPassBase::HoistInvariantsPassBase;

private:
  void runOnOperation() override;
  LogicalResult hoist(func::FuncOp function, PrepareFunction &prepare);
  /// Copies the operations that compute `value` to `builder`. Equal computations are copied once.
  Value clone(Value value, const InvariantAnalysis &analysis, OpBuilder &builder);

  llvm::StringMap<Value> clones;

  PassCounter numHoisted{this, "num-hoisted", "Number of values replaced by a derived argument"};
  PassCounter numTables{this, "num-tables", "Number of distinct tables that prepare computes"};
};
} // namespace

static constexpr RemarkOptions hoistInvariantsRemarks("cs336-hoist-invariants");

InvariantAnalysis::InvariantAnalysis(Block &block) {
  AsmState printing(block.getParentOp()->getContext(), printCompletely());
  for (Operation &op : block) {
    bool isCandidate = isPure(&op) && op.getNumRegions() == 0 && op.getNumResults() == 1 &&
                       llvm::all_of(op.getOperands(), [&](Value operand) { return isInvariant(operand); });
    if (!isCandidate)
      continue;
    std::string text;
    llvm::raw_string_ostream os(text);
    os << op.getName();
    op.getAttrDictionary().print(os, printing);
    os << op.getResult(0).getType();
    for (Value operand : op.getOperands())
      os << ' ' << structures.lookup(operand);
    structures[op.getResult(0)] = llvm::xxh3_64bits(text);
  }
}

std::string InvariantAnalysis::getName(Value value) const {
  return llvm::formatv("invariant.{0:x-16}", structures.lookup(value));
}

int64_t InvariantAnalysis::getFlops(Value value) const {
  llvm::SetVector<Operation *> slice;
  slice.insert(value.getDefiningOp());
  int64_t flops = 0;
  for (size_t next = 0; next < slice.size(); ++next) {
    if (auto cost = dyn_cast<CostOpInterface>(slice[next]))
      flops = addSaturating(flops, cost.getFlops());
    for (Value operand : slice[next]->getOperands())
      slice.insert(operand.getDefiningOp());
  }
  return flops;
}

/// Collects the values to store for `value`. Index arithmetic and views are cheaper to compute again than to store, so
/// their operands are considered instead.
void InvariantAnalysis::collectRoots(Value value, llvm::SetVector<Value> &roots) const {
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    Operation *op = next.getDefiningOp();
    auto fusible = dyn_cast<FusibleOpInterface>(op);
    if ((fusible && fusible.isRematerializable()) || isa<ViewOpInterface>(op))
      llvm::append_range(pending, llvm::reverse(op->getOperands()));
    else
      roots.insert(next);
  }
}

SmallVector<Value> InvariantAnalysis::getTables(Block &block) const {
  llvm::SetVector<Value> roots;
  for (Operation &op : block) {
    bool isUser = op.getNumResults() != 1 || !isInvariant(op.getResult(0));
    if (!isUser)
      continue;
    for (Value operand : op.getOperands())
      if (isInvariant(operand))
        collectRoots(operand, roots);
  }
  // The range of an integer variable is unknown, so integers that are used as indices are not hoisted.
  roots.remove_if([](Value root) {
    Type element = cast<RankedTensorType>(root.getType()).getElementType();
    return element.isInteger(32) || element.isInteger(64);
  });
  return roots.takeVector();
}

Value HoistInvariantsPass::clone(Value value, const InvariantAnalysis &analysis, OpBuilder &builder) {
  // Visits operands first. An explicit stack replaces recursion, because the chain of operations has no length limit.
  SmallVector<Value> waiting{value};
  while (!waiting.empty()) {
    Operation *op = waiting.back().getDefiningOp();
    auto isMissing = [&](Value operand) { return !clones.contains(analysis.getName(operand)); };
    auto missing = isMissing(waiting.back()) ? llvm::find_if(op->getOperands(), isMissing) : op->operand_end();
    if (missing != op->operand_end()) {
      waiting.push_back(*missing);
      continue;
    }
    Value &cloned = clones[analysis.getName(waiting.pop_back_val())];
    if (cloned)
      continue;
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, clones.lookup(analysis.getName(operand)));
    cloned = builder.clone(*op, mapping)->getResult(0);
  }
  return clones.lookup(analysis.getName(value));
}

LogicalResult HoistInvariantsPass::hoist(func::FuncOp function, PrepareFunction &prepare) {
  Block &block = function.getBody().front();
  InvariantAnalysis analysis(block);

  // Equal tables of one function share an argument.
  llvm::MapVector<StringRef, SmallVector<Value>> tables;
  llvm::StringSet<> names;
  for (Value table : analysis.getTables(block)) {
    int64_t flops = analysis.getFlops(table), elements = cast<RankedTensorType>(table.getType()).getNumElements();
    if (flops < multiplySaturating(minFlops, elements))
      remark::missed(table.getLoc(), hoistInvariantsRemarks("NotHoisted"))
          << remark::add("@{0} computes it in each call: {1} FLOPs for {2} elements, below min-flops = {3} per element",
                         function.getName(), flops, elements, minFlops.getValue());
    else
      tables[names.insert(analysis.getName(table)).first->getKey()].push_back(table);
  }

  SmallVector<Type> types;
  SmallVector<DictionaryAttr> ports;
  SmallVector<Location> locations;
  for (auto &[name, values] : tables) {
    Value first = values.front();
    if (!prepare.returns(name)) {
      OpBuilder builder = prepare.getBuilder();
      prepare.addResult(clone(first, analysis, builder), name);
      ++numTables;
    }
    types.push_back(first.getType());
    ports.push_back(makePort(&getContext(), port::kDerived, name));
    locations.push_back(first.getLoc());
    remark::passed(first.getLoc(), hoistInvariantsRemarks("Hoisted")) << remark::add(
        "'{0}' saves {1} FLOPs per call of @{2}", name.str(), analysis.getFlops(first), function.getName().str());
  }
  unsigned firstIndex = function.getNumArguments();
  SmallVector<unsigned> indices(types.size(), firstIndex);
  if (failed(function.insertArguments(indices, types, ports, locations)))
    return failure();
  for (auto [index, entry] : llvm::enumerate(tables))
    for (Value table : entry.second) {
      table.replaceAllUsesWith(function.getArgument(firstIndex + index));
      ++numHoisted;
    }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return success();
}

void HoistInvariantsPass::runOnOperation() {
  clones.clear();
  PrepareFunction prepare(getOperation());
  for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
    std::optional<Mode> mode = getMode(function);
    bool isEntry = mode && *mode != Mode::Prepare;
    if (!isEntry || function.isExternal())
      continue;
    if (!function.getBody().hasOneBlock()) {
      remark::missed(function.getLoc(), hoistInvariantsRemarks("NotHoisted"))
          << remark::add("@{0} has several blocks, so each run computes its invariant values", function.getName());
      continue;
    }
    if (failed(hoist(function, prepare)))
      return signalPassFailure();
  }
  prepare.finish();
}
