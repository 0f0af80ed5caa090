//===- RowsKernel.cpp - A kernel for some of the rows ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowsKernel.h"

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "cs336/Dialect/Exec/IR/KernelNames.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

namespace {
/// Changes the rows of shaped types.
class RowsChange {
public:
  RowsChange(ArrayRef<int64_t> shape, int64_t rows) : shape(shape), rows(rows) {}

  /// Returns null if the type has neither the shape nor a single element.
  template <typename Shaped>
  Shaped apply(Shaped type) const {
    if (type.getRank() == 0)
      return type;
    if (type.getShape() != shape)
      return {};
    SmallVector<int64_t> changed(shape);
    changed.front() = rows;
    return cast<Shaped>(type.clone(changed));
  }

  LogicalResult apply(Operation *op) const;

private:
  ArrayRef<int64_t> shape;
  int64_t rows;
};
} // namespace

LogicalResult RowsChange::apply(Operation *op) const {
  for (Value result : op->getResults()) {
    RankedTensorType type = apply(tensorType(result));
    if (!type)
      return failure();
    result.setType(type);
  }
  DenseElementsAttr elements;
  if (matchPattern(op, m_Constant(&elements)))
    op->setAttr("value", elements.resizeSplat(tensorType(op->getResult(0))));
  return success();
}

/// Returns whether each element of a result needs one element of each operand, and does not depend on its position.
static bool isElementwise(Operation *op) {
  DenseElementsAttr elements;
  if (matchPattern(op, m_Constant(&elements)))
    return elements.isSplat();
  ArrayRef<int64_t> shape = tensorType(op->getResult(0)).getShape();
  return op->getNumOperands() > 0 && cast<FusibleOpInterface>(op).getFusionKind() == FusionKind::Pointwise &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return tensorType(operand).getRank() == 0 || tensorType(operand).getShape() == shape;
         });
}

/// Returns the types of buffers with other rows, or none if one is not dense or has another shape.
static std::optional<SmallVector<Type>> changeTypes(ArrayRef<Type> types, const RowsChange &change) {
  SmallVector<Type> changed;
  for (Type type : types) {
    auto buffer = cast<MemRefType>(type);
    MemRefType rows = buffer.getLayout().isIdentity() ? change.apply(buffer) : MemRefType();
    if (!rows)
      return std::nullopt;
    changed.push_back(rows);
  }
  return changed;
}

KernelOp exec::createRowsKernel(KernelOp kernel, int64_t rows) {
  Block &body = kernel.getBody().front();
  auto first = cast<MemRefType>(kernel.getOutTypes().front());
  if (first.getRank() == 0 || llvm::any_of(kernel.getOutTypes(), [&](Type out) {
        return cast<MemRefType>(out).getShape() != first.getShape();
      }))
    return {};
  RowsChange change(first.getShape(), rows);
  std::optional<SmallVector<Type>> inputs = changeTypes(kernel.getInTypes(), change),
                                   outputs = changeTypes(kernel.getOutTypes(), change);
  auto operations = llvm::to_vector(llvm::make_pointer_range(body.without_terminator()));
  if (!inputs || !outputs || !llvm::all_of(operations, isElementwise))
    return {};

  OpBuilder builder(kernel.getContext());
  auto changed = KernelOp::create(builder, kernel.getLoc(), "rows", builder.getFunctionType(*inputs, *outputs));
  Block &block = changed.getBody().emplaceBlock();
  IRMapping mapping;
  for (BlockArgument argument : body.getArguments())
    mapping.map(argument,
                block.addArgument(change.apply(cast<RankedTensorType>(argument.getType())), argument.getLoc()));
  builder.setInsertionPointToStart(&block);
  for (Operation &op : body) {
    Operation *clone = builder.clone(op, mapping);
    if (failed(change.apply(clone))) {
      changed.erase();
      return {};
    }
  }
  nameByContents(changed, describeOperations(operations));
  return changed;
}
