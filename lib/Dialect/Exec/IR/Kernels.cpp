//===- Kernels.cpp - Kernels' rules, and when they may write over an operand -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"
#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Dialect/CS336/IR/Rows.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

/// Returns whether the buffer has the sizes and elements of the tensor, static strides, and offset 0.
static bool fits(Type tensor, Type buffer) {
  auto tensorType = dyn_cast<RankedTensorType>(tensor);
  auto bufferType = dyn_cast<MemRefType>(buffer);
  return tensorType && bufferType && tensorType.getShape() == bufferType.getShape() &&
         tensorType.getElementType() == bufferType.getElementType() && isBuffer(bufferType) &&
         dropOffset(bufferType) == bufferType;
}

static LogicalResult verifyLayouts(KernelOp kernel, TypeRange tensors, ArrayRef<Type> buffers, StringRef what) {
  if (tensors.size() != buffers.size())
    return kernel.emitOpError() << "has " << tensors.size() << ' ' << what << "s and layouts for " << buffers.size();
  for (auto [index, tensor, buffer] : llvm::enumerate(tensors, buffers))
    if (!fits(tensor, buffer))
      return kernel.emitOpError()
             << what << ' ' << index << " of type " << tensor << " does not lie in " << buffer
             << ": it must be a memref of those sizes and elements, with known strides, at offset 0";
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  Block &block = getBody().front();
  if (failed(verifyLayouts(*this, block.getArgumentTypes(), getInTypes(), "operand")) ||
      failed(verifyLayouts(*this, getYieldedValues().getTypes(), getOutTypes(), "result")))
    return failure();
  if (getOutTypes().empty())
    return emitOpError() << "must have a result";
  for (Type out : getOutTypes())
    if (!cast<MemRefType>(out).getLayout().isIdentity())
      return emitOpError() << "result must be written densely, not to " << out;
  for (Operation &op : block.without_terminator())
    if (!isa<FusibleOpInterface>(op))
      return op.emitOpError() << "is in a kernel but does not implement FusibleOpInterface";
  return success();
}

/// Returns the operations that `value` is computed from.
static llvm::SmallSetVector<Operation *, 8> collectProducers(Value value) {
  llvm::SmallSetVector<Operation *, 8> found;
  auto add = [&](Value computed) {
    if (Operation *op = computed.getDefiningOp())
      found.insert(op);
  };
  add(value);
  for (unsigned next = 0; next < found.size(); ++next)
    llvm::for_each(found[next]->getOperands(), add);
  return found;
}

/// Returns the operations that are connected with `value` by uses, in either direction.
static llvm::SmallSetVector<Operation *, 8> collectConnected(Value value) {
  llvm::SmallSetVector<Operation *, 8> found;
  auto add = [&](Operation *op) {
    if (op && !op->hasTrait<OpTrait::IsTerminator>())
      found.insert(op);
  };
  add(value.getDefiningOp());
  for (unsigned next = 0; next < found.size(); ++next) {
    Operation *op = found[next];
    for (Value operand : op->getOperands())
      add(operand.getDefiningOp());
    // Every reader computes constants itself.
    if (op->getNumOperands() != 0)
      llvm::for_each(op->getUsers(), add);
  }
  return found;
}

static bool isRematerialized(Operation *op) { return cast<FusibleOpInterface>(op).isRematerializable(); }

static bool isOfKind(Operation *op, FusionKind kind) { return cast<FusibleOpInterface>(op).getFusionKind() == kind; }

bool KernelOp::writesRows(unsigned out) {
  llvm::SmallSetVector<Operation *, 8> producers = collectProducers(getYieldedValues()[out]);
  return llvm::any_of(producers, [](Operation *op) { return isOfKind(op, FusionKind::RowReduction); });
}

/// Returns whether elements of `value` are computed from one element each of the operands, and no broadcast reads
/// `argument` or a value computed from it: each of its elements is then needed for one element of the result.
static bool isElementwise(Value value, BlockArgument argument) {
  llvm::SmallSetVector<Operation *, 8> connected = collectConnected(value), computed;
  auto addUsers = [&](Value read) {
    for (Operation *user : read.getUsers())
      if (!user->hasTrait<OpTrait::IsTerminator>())
        computed.insert(user);
  };
  addUsers(argument);
  for (unsigned next = 0; next < computed.size(); ++next)
    llvm::for_each(computed[next]->getResults(), addUsers);
  auto isMatmul = [](Operation *op) {
    return !op->hasTrait<OpTrait::IsTerminator>() && isOfKind(op, FusionKind::Contraction);
  };
  return llvm::none_of(computed, isRematerialized) && llvm::all_of(connected, [&](Operation *op) {
           if (isRematerialized(op) || isOfKind(op, FusionKind::Pointwise))
             return true;
           // A matmul of other operands gives one element for each element of the result. Its factors may have parts.
           bool isFactor = isOfKind(op, FusionKind::Assembly) && llvm::all_of(op->getUsers(), isMatmul);
           return (isMatmul(op) || isFactor) && !computed.contains(op);
         });
}

bool KernelOp::canWriteOver(unsigned in, unsigned out) {
  if (getInTypes()[in] != getOutTypes()[out])
    return false;
  // Schedules treat rows of one element as elements.
  ArrayRef<int64_t> shape = cast<MemRefType>(getOutTypes()[out]).getShape();
  if (writesRows(out) ? !keepsRowsApart(getBody().front(), shape) || shape.back() == 1
                      : !isElementwise(getYieldedValues()[out], getBody().getArgument(in)))
    return false;
  // Several operations may become several loops, in their order. Loops that read the operand must precede the loop that
  // writes over it, which is certain if that loop depends on them.
  llvm::SmallSetVector<Operation *, 8> producers = collectProducers(getYieldedValues()[out]);
  return llvm::all_of(getBody().getArgument(in).getUsers(), [&](Operation *user) {
    return isa<FusibleOpInterface>(user) && !isRematerialized(user) && producers.contains(user);
  });
}
