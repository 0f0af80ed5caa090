//===- KernelToLinalg.cpp - The linalg form of a kernel, which targets read -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Codegen/KernelToLinalg.h"

#include "ExactIntegers.h"
#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace cs336;

namespace {
/// Lowers the body of one kernel, operation by operation.
class KernelLowering {
public:
  KernelLowering(exec::KernelOp kernel, OpBuilder &builder) : kernel(kernel), builder(builder) {}

  FailureOr<func::FuncOp> run();

private:
  /// Lowers `op` into `inits`. Empty inits become new tensors of the kernel.
  FailureOr<SmallVector<Value>> lower(Operation *op, ArrayRef<Value> inits);

  /// Returns the lowered value. Rematerializable operations are lowered again for every use, so that each use can
  /// absorb its own copy.
  FailureOr<Value> lookUp(Value value);

  exec::KernelOp kernel;
  OpBuilder &builder;
  IRMapping lowered;
};
} // namespace

static bool isRematerializable(Operation *op) {
  auto fusible = dyn_cast_or_null<FusibleOpInterface>(op);
  return fusible && fusible.isRematerializable();
}

FailureOr<Value> KernelLowering::lookUp(Value value) {
  if (!isRematerializable(value.getDefiningOp()))
    return lowered.lookup(value);
  FailureOr<SmallVector<Value>> results =
      lower(value.getDefiningOp(), SmallVector<Value>(value.getDefiningOp()->getNumResults()));
  if (failed(results))
    return failure();
  return (*results)[cast<OpResult>(value).getResultNumber()];
}

FailureOr<SmallVector<Value>> KernelLowering::lower(Operation *op, ArrayRef<Value> inits) {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  if (!fusible)
    return op->emitOpError("cannot be part of a kernel: it does not implement FusibleOpInterface");
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> input = lookUp(operand);
    if (failed(input))
      return failure();
    inputs.push_back(*input);
  }
  SmallVector<Value> destinations;
  for (auto [init, result] : llvm::zip_equal(inits, op->getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    destinations.push_back(
        init ? init : tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), type.getElementType()));
  }
  FailureOr<SmallVector<Value>> results = fusible.lowerToLinalg(builder, inputs, destinations);
  if (failed(results))
    return op->emitOpError("could not be lowered to linalg");
  return results;
}

/// Copies a tensor that has another destination already: a value yielded twice, or an operand yielded unchanged.
static Value copyTo(OpBuilder &builder, Location loc, Value value, Value init) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, init.getType(), value, init, maps, iterators,
             [](OpBuilder &b, Location l, ValueRange scalars) { linalg::YieldOp::create(b, l, scalars.front()); })
      .getResult(0);
}

FailureOr<func::FuncOp> KernelLowering::run() {
  OpBuilder::InsertionGuard guard(builder);
  Block &body = kernel.getBody().front();
  ValueRange yielded = kernel.getYieldedValues();

  SmallVector<Type> argumentTypes(body.getArgumentTypes());
  llvm::append_range(argumentTypes, yielded.getTypes());
  auto func = func::FuncOp::create(builder, kernel.getLoc(), kernel.getSymName(),
                                   builder.getFunctionType(argumentTypes, yielded.getTypes()));
  builder.setInsertionPointToStart(func.addEntryBlock());
  lowered.map(body.getArguments(), func.getArguments().take_front(body.getNumArguments()));
  ValueRange outs = func.getArguments().drop_front(body.getNumArguments());

  // A value is computed into its first destination.
  DenseMap<Value, Value> destination;
  for (auto [value, out] : llvm::zip_equal(yielded, outs))
    destination.try_emplace(value, out);

  SmallVector<Value> results(yielded.size());
  for (Operation &op : body.without_terminator()) {
    if (isRematerializable(&op) && llvm::none_of(op.getResults(), [&](Value v) { return destination.contains(v); }))
      continue;
    SmallVector<Value> inits;
    for (Value result : op.getResults())
      inits.push_back(destination.lookup(result));
    FailureOr<SmallVector<Value>> values = lower(&op, inits);
    if (failed(values)) {
      func.erase();
      return failure();
    }
    lowered.map(op.getResults(), *values);
  }
  for (auto [index, value] : llvm::enumerate(yielded)) {
    bool isComputedHere = !isa<BlockArgument>(value) && destination.lookup(value) == outs[index];
    Value result = lowered.lookup(value);
    results[index] = isComputedHere ? result : copyTo(builder, kernel.getLoc(), result, outs[index]);
  }
  func::ReturnOp::create(builder, kernel.getLoc(), results);
  return func;
}

/// Fuses into `consumer` one producer without other uses. Returns the operation that replaces `consumer`, or null.
static linalg::GenericOp fuseOneProducer(RewriterBase &rewriter, linalg::GenericOp consumer) {
  for (OpOperand *operand : consumer.getDpsInputOperands()) {
    auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
    if (!producer || !producer->hasOneUse() || !linalg::areElementwiseOpsFusable(operand))
      continue;
    rewriter.setInsertionPoint(consumer);
    FailureOr<linalg::ElementwiseOpFusionResult> fusion = linalg::fuseElementwiseOps(rewriter, operand);
    if (failed(fusion))
      continue;
    SmallVector<Value> replacements;
    for (Value result : consumer->getResults())
      replacements.push_back(fusion->replacements.lookup(result));
    rewriter.replaceOp(consumer, replacements);
    rewriter.eraseOp(producer);
    return cast<linalg::GenericOp>(fusion->fusedOp);
  }
  return nullptr;
}

/// Returns patterns that merge the operands of an operation that are the same tensor.
static FrozenRewritePatternSet createOperandMerging(MLIRContext *context) {
  RewritePatternSet patterns(context);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  return patterns;
}

static LogicalResult fuseProducers(func::FuncOp func) {
  FrozenRewritePatternSet operandMerging = createOperandMerging(func.getContext());
  // A kernel has one block, and the driver erases operations without uses itself.
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  if (failed(applyPatternsGreedily(func, operandMerging, config)))
    return failure();
  IRRewriter rewriter(func.getContext());
  for (linalg::GenericOp generic : llvm::make_early_inc_range(func.getOps<linalg::GenericOp>()))
    while (generic)
      generic = fuseOneProducer(rewriter, generic);
  // Producer and consumer may read the same tensor.
  return applyPatternsGreedily(func, operandMerging, config);
}

/// Marks the arithmetic on indices of loops that their sizes show to be exact.
static void markExactIntegers(linalg::GenericOp generic) {
  auto getArgumentRange = [](BlockArgument) { return IntegerValueRange(); };
  IntegerRanges ranges(getArgumentRange);
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
  for (auto index : generic.getBody()->getOps<linalg::IndexOp>())
    ranges.set(index, getRangeBelow(index.getType(), sizes[index.getDim()]));
  cs336::markExactIntegers(*generic.getBody(), ranges);
}

FailureOr<func::FuncOp> cs336::lowerKernelToLinalg(exec::KernelOp kernel, OpBuilder &builder) {
  FailureOr<func::FuncOp> func = KernelLowering(kernel, builder).run();
  if (failed(func) || failed(fuseProducers(*func)))
    return failure();
  for (auto generic : func->getOps<linalg::GenericOp>())
    ::markExactIntegers(generic);
  return func;
}
