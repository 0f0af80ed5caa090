//===- VectorLoops.cpp - Which loops run on vectors -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorLoops.h"

#include "MathApproximation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace cs336::cpu;

/// The smallest number of lanes for which a vector loop with a scalar remainder is faster.
static constexpr int64_t kShortestBits = 128;

/// The number of registers per vector value: operations on different registers are independent, and a sum has one
/// partial sum per register.
static constexpr int64_t kLoopRegisters = 4;

std::optional<vector::CombiningKind> cs336::cpu::getCombiningKind(Operation *combiner) {
  return linalg::getCombinerOpKind(combiner);
}

/// Returns whether the C library computes the function, one element at a time.
static bool isLibraryCall(Operation *op) {
  if (!isa<math::MathDialect>(op->getDialect()) || hasMathApproximation(op))
    return false;
  return !isa<math::AbsFOp, math::AbsIOp, math::CopySignOp, math::FmaOp, math::RsqrtOp, math::SqrtOp>(op);
}

/// Returns whether iterations read one element of the tensor after the other, when the innermost loop changes the
/// values for which `isVarying` holds.
static bool readsNeighbours(const KernelPlan &plan, tensor::ExtractOp extract, function_ref<bool(Value)> isVarying) {
  SmallVector<Value> indices(extract.getIndices());
  if (llvm::any_of(ArrayRef(indices).drop_back(), isVarying) || !indices.back().getDefiningOp<linalg::IndexOp>())
    return false;
  return plan.storages[plan.storageOf.lookup(extract.getTensor())].strides.back() == 1;
}

/// Returns the reason why the statement must run the iterations of `loop` one by one, or an empty string. Loading lanes
/// one by one, or with the processor's gathers, is slower than LLVM's code for the scalar loop.
static StringRef findScalarReason(const KernelPlan &plan, const Statement &statement, unsigned loop) {
  linalg::GenericOp generic = statement.getGeneric();
  DenseSet<Value> varying;
  auto isVarying = [&](Value value) { return varying.contains(value); };
  for (auto [argument, access] : llvm::zip_equal(generic.getRegionInputArgs(), statement.inputs)) {
    int64_t stride = access.coefficients[loop];
    if (stride < 0 || stride > 2)
      return "it reads elements that are far apart";
    if (stride != 0)
      varying.insert(argument);
  }
  varying.insert_range(generic.getRegionOutputArgs());

  for (Operation &op : generic.getBody()->without_terminator()) {
    if (auto indexOp = dyn_cast<linalg::IndexOp>(op)) {
      if (statement.loopOfDim[indexOp.getDim()] == loop)
        varying.insert(indexOp.getResult());
      continue;
    }
    if (llvm::none_of(op.getOperands(), isVarying))
      continue;
    varying.insert_range(op.getResults());
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    if (extract && !readsNeighbours(plan, extract, isVarying))
      return "it reads elements at computed places";
    if (isLibraryCall(&op))
      return "it calls a function of the C library";
    if (!extract && !OpTrait::hasElementwiseMappableTraits(&op))
      return "it has an operation that is not elementwise";
  }
  return {};
}

/// Returns the width of the widest number in the phase. Indices are not counted, but values computed from them are.
static int64_t getWidestBits(const KernelPlan &plan, const Phase &phase) {
  int64_t widest = 8;
  auto add = [&](Type type) {
    if (type.isIntOrFloat())
      widest = std::max<int64_t>(widest, type.getIntOrFloatBitWidth());
  };
  for (unsigned index : phase.statements) {
    Block *body = plan.statements[index].getGeneric().getBody();
    llvm::for_each(body->getArgumentTypes(), add);
    for (Operation &op : *body)
      llvm::for_each(op.getResultTypes(), add);
  }
  return widest;
}

/// Returns the number of lanes with the fewest estimated instructions for `size` iterations. An iteration on vectors
/// counts one for the loop and one per register; a scalar iteration counts one. Prefers more lanes among equals.
static int64_t chooseLanes(int64_t size, int64_t registerLanes, int64_t fewest, int64_t most) {
  int64_t best = 1, bestCost = size;
  for (int64_t lanes = fewest; lanes <= std::min(most, size); lanes *= 2) {
    int64_t cost = size / lanes * (1 + std::max<int64_t>(lanes / registerLanes, 1)) + size % lanes;
    if (cost <= bestCost) {
      best = lanes;
      bestCost = cost;
    }
  }
  return best;
}

VectorLoop cs336::cpu::chooseVectorLoop(const KernelPlan &plan, const Phase &phase, RegisterCombiners combiners,
                                        int64_t vectorBits) {
  if (phase.loops.empty())
    return {1, "it has one iteration"};
  unsigned loop = phase.loops.back();
  unsigned nextCombiner = 0;
  for (unsigned index : phase.statements) {
    const Statement &statement = plan.statements[index];
    if (StringRef reason = findScalarReason(plan, statement, loop); !reason.empty())
      return {1, reason};
    for (auto [output, access] : llvm::enumerate(statement.outputs)) {
      Operation *combiner = statement.isReduction(output) ? combiners[nextCombiner++] : nullptr;
      if (!combiner && access.coefficients[loop] == 0)
        return {1, "its iterations update one element of memory"};
      if (!combiner && access.coefficients[loop] != 1)
        return {1, "it writes elements that are not next to each other"};
      if (combiner && !getCombiningKind(combiner))
        return {1, "it combines values as no reduction of vectors does"};
    }
  }

  int64_t widest = getWidestBits(plan, phase), registerLanes = std::max<int64_t>(vectorBits / widest, 1);
  int64_t fewest = std::max<int64_t>(kShortestBits / widest, 2), most = registerLanes * kLoopRegisters;
  int64_t lanes = chooseLanes(plan.loopSizes[loop], registerLanes, fewest, most);
  return lanes == 1 ? VectorLoop{1, "it is short"} : VectorLoop{lanes, {}};
}
