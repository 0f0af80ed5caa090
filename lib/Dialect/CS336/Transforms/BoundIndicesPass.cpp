//===- BoundIndicesPass.cpp - Keeps indices in bounds ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/IntegerRanges.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

namespace cs336 {
#define GEN_PASS_DEF_BOUNDINDICESPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
/// An operand that contains indices.
struct IndexOperand {
  IndexingOpInterface op;
  IndexUse use;

  Value get() const { return op->getOperand(use.operand); }
  /// Starts an error that names the indexed elements.
  InFlightDiagnostic emitError() const {
    return op->emitOpError() << "indexes the " << use.bound << ' ' << use.places << " with ";
  }
};

class BoundIndicesPass : public cs336::impl::BoundIndicesPassBase<BoundIndicesPass>, public CountingPass {
  void runOnOperation() override {
    if (failed(boundIndices()))
      signalPassFailure();
  }

  LogicalResult boundIndices();
  /// Sets the bound of an input if the indices are that input.
  LogicalResult boundInput(const IndexOperand &indices);
  /// Inserts a check of the indices, unless their range is always or never in bounds.
  LogicalResult proveOrCheck(const IndexOperand &indices, IntegerRanges &ranges);
  LogicalResult check(const IndexOperand &indices);

  DictionaryAttr getPort(BlockArgument argument) {
    func::FuncOp function = getOperation();
    return function.getArgAttrDict(argument.getArgNumber());
  }
  std::optional<int64_t> getBound(BlockArgument argument) {
    DictionaryAttr port = getPort(argument);
    auto bound = port ? port.getAs<IntegerAttr>(CS336Dialect::kBoundAttr) : IntegerAttr();
    return bound ? std::optional(bound.getInt()) : std::nullopt;
  }

  /// Inputs whose bound this pass has set.
  llvm::SmallDenseSet<BlockArgument> derived;
  /// Existing checks, by operand and bound.
  DenseMap<std::pair<Value, int64_t>, Value> checks;

  PassCounter numBounded{this, "num-bounded", "Number of inputs that got a bound"};
  PassCounter numProved{this, "num-proved", "Number of operands whose indices are in bounds"};
  PassCounter numChecked{this, "num-checked", "Number of operands whose indices are checked as the program runs"};
};
} // namespace

static constexpr RemarkOptions boundIndicesRemarks("cs336-bound-indices");

/// Returns the operand of a group that an argument of its body stands for. Returns other values unchanged.
static Value getOutsideOfGroups(Value value) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto group = dyn_cast<FusedOp>(argument.getOwner()->getParentOp());
    if (!group)
      break;
    value = group->getOperand(argument.getArgNumber());
  }
  return value;
}

/// Returns the function argument whose elements `value` consists of, in any layout, or null.
static BlockArgument findArgument(Value value) {
  auto count = [](Value tensor) { return cast<RankedTensorType>(tensor.getType()).getNumElements(); };
  while (true) {
    value = getOutsideOfGroups(value);
    auto view = value.getDefiningOp<ViewOpInterface>();
    if (!view || count(view->getOperand(0)) > count(value))
      return dyn_cast<BlockArgument>(value);
    value = view->getOperand(0);
  }
}

LogicalResult BoundIndicesPass::boundInput(const IndexOperand &indices) {
  BlockArgument argument = findArgument(indices.get());
  bool isOfFunction = argument && argument.getOwner()->isEntryBlock() &&
                      argument.getOwner()->getParentOp() == getOperation().getOperation();
  if (!isOfFunction || getPortKind(getPort(argument)) != port::kInput || indices.use.bound < 1)
    return success();
  std::optional<int64_t> bound = getBound(argument);
  if (bound && *bound <= indices.use.bound)
    return success();
  if (bound && !derived.contains(argument))
    return indices.emitError() << "input '" << getPortName(getPort(argument)) << "', whose cs336.bound is " << *bound
                               << ": declare cs336.bound = " << indices.use.bound
                               << " or clamp the indices with cs336.max and cs336.min";
  derived.insert(argument);
  Builder builder(&getContext());
  getOperation().setArgAttr(argument.getArgNumber(), CS336Dialect::kBoundAttr,
                            builder.getI64IntegerAttr(indices.use.bound));
  remark::passed(indices.op->getLoc(), boundIndicesRemarks("InputBounded"))
      << remark::add("input '{0}' must be in [0, {1}), the {2}", getPortName(getPort(argument)).str(),
                     indices.use.bound, indices.use.places.str());
  return success();
}

/// Returns the first element of a constant that is outside [0, bound), and its indices. A splat has one element to
/// check.
static std::optional<std::pair<APInt, SmallVector<int64_t>>> findOutside(DenseIntElementsAttr elements, int64_t bound) {
  auto isOutside = [bound](const APInt &element) { return element.isNegative() || element.getSExtValue() >= bound; };
  if (elements.empty())
    return std::nullopt;
  int64_t number = 0;
  auto values = elements.getValues<APInt>();
  if (!elements.isSplat())
    number = std::distance(values.begin(), llvm::find_if(values, isOutside));
  if (number == elements.getNumElements() || !isOutside(values[number]))
    return std::nullopt;
  ArrayRef<int64_t> shape = elements.getType().getShape();
  SmallVector<int64_t> position(shape.size());
  int64_t rest = number;
  for (int64_t axis = static_cast<int64_t>(shape.size()) - 1; axis >= 0; rest /= shape[axis--])
    position[axis] = rest % shape[axis];
  return std::pair(values[number], position);
}

LogicalResult BoundIndicesPass::proveOrCheck(const IndexOperand &indices, IntegerRanges &ranges) {
  int64_t bound = indices.use.bound;
  std::string requirement = (": every index must be in [0, " + Twine(bound) + ")").str();
  if (DenseIntElementsAttr elements; matchPattern(getOutsideOfGroups(indices.get()), m_Constant(&elements)))
    if (auto outside = findOutside(elements, bound)) {
      auto position = llvm::map_range(outside->second, [](int64_t index) { return std::to_string(index); });
      return indices.emitError() << "a constant that contains " << outside->first.getSExtValue() << " at ["
                                 << llvm::join(position, ", ") << ']' << requirement;
    }
  IntegerValueRange range = ranges.get(indices.get());
  if (isWithin(range, bound)) {
    ++numProved;
    return success();
  }
  if (!range.isUninitialized()) {
    const ConstantIntRanges &integers = range.getValue();
    if (integers.smax().isNegative() || integers.smin().getSExtValue() >= bound)
      return indices.emitError() << "integers from " << integers.smin().getSExtValue() << " to "
                                 << integers.smax().getSExtValue() << requirement;
  }
  return check(indices);
}

LogicalResult BoundIndicesPass::check(const IndexOperand &indices) {
  Value value = getOutsideOfGroups(indices.get());
  Block &block = getOperation().getBody().front();
  Operation *user = block.findAncestorOpInBlock(*indices.op);
  if (value.getParentBlock() != &block || !user)
    return indices.emitError() << "integers without a known range that its group computes: compute them outside "
                                  "the group, where they can be checked, or clamp them with cs336.max and cs336.min";
  Value &checked = checks[{value, indices.use.bound}];
  if (!checked) {
    OpBuilder builder(user);
    checked =
        CheckBoundOp::create(builder, indices.op->getLoc(), value.getType(), value, indices.use.bound).getResult();
    remark::missed(indices.op->getLoc(), boundIndicesRemarks("CheckedAtRunTime"))
        << remark::add("the indices of the {0} {1} have no known range: each run checks them", indices.use.bound,
                       indices.use.places.str());
  }
  // An argument of a group is replaced in all of its uses, which read the same integers.
  if (indices.get() == value)
    indices.op->setOperand(indices.use.operand, checked);
  else
    user->replaceUsesOfWith(value, checked);
  ++numChecked;
  return success();
}

LogicalResult BoundIndicesPass::boundIndices() {
  derived.clear();
  checks.clear();
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return success();
  SmallVector<IndexOperand> all;
  function.walk([&](IndexingOpInterface op) {
    for (const IndexUse &use : op.getIndexUses())
      all.push_back({op, use});
  });
  for (const IndexOperand &indices : all)
    if (failed(boundInput(indices)))
      return failure();
  numBounded += derived.size();

  auto getArgumentRange = [&](BlockArgument argument) {
    std::optional<int64_t> bound;
    if (argument.getOwner() == &function.getBody().front())
      bound = getBound(argument);
    return bound ? IntegerValueRange(getRangeBelow(argument.getType(), *bound))
                 : IntegerValueRange::getMaxRange(argument);
  };
  IntegerRanges ranges(getArgumentRange);
  for (const IndexOperand &indices : all)
    if (failed(proveOrCheck(indices, ranges)))
      return failure();
  return success();
}
