//===- OutputBoxes.cpp - Outputs that are put together from boxes ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputBoxes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace cs336::cuda;

/// Splits a result of an output's map into a loop and a constant. Returns nothing for other expressions. A loop modulo
/// a size that it stays below, which represents a box at the origin in linalg, is the loop.
static std::optional<std::pair<unsigned, int64_t>> getShiftedLoop(AffineExpr index, ArrayRef<int64_t> extents) {
  if (auto dim = dyn_cast<AffineDimExpr>(index))
    return std::pair(dim.getPosition(), int64_t(0));
  auto binary = dyn_cast<AffineBinaryOpExpr>(index);
  if (!binary)
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(binary.getLHS());
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!dim || !constant)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add)
    return std::pair(dim.getPosition(), constant.getValue());
  if (binary.getKind() == AffineExprKind::Mod && extents[dim.getPosition()] <= constant.getValue())
    return std::pair(dim.getPosition(), int64_t(0));
  return std::nullopt;
}

SmallVector<int64_t> OutputBox::getShape() {
  SmallVector<int64_t> extents = generic.getStaticLoopRanges();
  return llvm::map_to_vector(loops, [&](auto loop) { return extents[loop.first]; });
}

std::optional<OutputBox> cs336::cuda::findBox(Value tensor) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumReductionLoops() != 0)
    return std::nullopt;
  auto result = cast<OpResult>(tensor);
  SmallVector<int64_t> extents = generic.getStaticLoopRanges();
  OutputBox box{generic, result.getResultNumber(), {}};
  llvm::SmallBitVector walked(extents.size());
  for (AffineExpr index : generic.getIndexingMapMatchingResult(result).getResults()) {
    std::optional<std::pair<unsigned, int64_t>> loop = getShiftedLoop(index, extents);
    if (!loop || walked.test(loop->first))
      return std::nullopt;
    walked.set(loop->first);
    box.loops.push_back(*loop);
  }
  if (!walked.all())
    return std::nullopt;
  return box;
}

/// Returns whether no element is in both of two boxes of one shape.
static bool areApart(OutputBox &lhs, OutputBox &rhs) {
  return llvm::any_of(llvm::zip_equal(lhs.loops, rhs.loops, lhs.getShape()), [](auto dim) {
    auto [ofLhs, ofRhs, extent] = dim;
    return std::abs(ofLhs.second - ofRhs.second) >= extent;
  });
}

/// Returns whether an operation writes the elements of the whole tensor at the points of its loops.
static bool isWhole(Value tensor) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  return generic && generic.getIndexingMapMatchingResult(cast<OpResult>(tensor)).isIdentity();
}

SmallVector<OutputBox> cs336::cuda::findBoxes(const DeviceKernel &kernel, unsigned output) {
  func::FuncOp function = kernel.function;
  Value tensor = function.getBody().front().getTerminator()->getOperand(output);
  // The common case needs no loop ranges, which take long to compute.
  if (isWhole(tensor))
    return {};
  int64_t missing = cast<RankedTensorType>(tensor.getType()).getNumElements();
  SmallVector<OutputBox> boxes;
  while (missing > 0) {
    std::optional<OutputBox> box = findBox(tensor);
    if (!box || (!boxes.empty() && box->getShape() != boxes.front().getShape()) ||
        llvm::any_of(boxes, [&](OutputBox &other) { return !areApart(*box, other); }))
      return {};
    tensor = box->generic.getDpsInits()[box->result];
    missing -= ShapedType::getNumElements(box->getShape());
    boxes.push_back(std::move(*box));
  }
  if (boxes.size() == 1)
    return {};
  std::reverse(boxes.begin(), boxes.end());
  return boxes;
}

SmallVector<int64_t> cs336::cuda::getPointShape(const DeviceKernel &kernel, unsigned output) {
  SmallVector<OutputBox> boxes = findBoxes(kernel, output);
  return boxes.empty() ? SmallVector<int64_t>(kernel.getOutputShape(output)) : boxes.front().getShape();
}
