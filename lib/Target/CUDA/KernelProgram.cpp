//===- KernelProgram.cpp - One element of a kernel's outputs --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelProgram.h"
#include "ExpressionPrinter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace cs336::cuda;

ArrayRef<int64_t> KernelProgram::getExtents(const LoopNest &nest) const {
  return ArrayRef(extents).slice(nest.begin, nest.getNumDims());
}

int64_t KernelProgram::getNumIterations(const LoopNest &nest) const {
  return ShapedType::getNumElements(getExtents(nest));
}

void KernelProgram::forEachIndex(llvm::function_ref<void(AffineExpr &)> fn) {
  for (Scalar &scalar : scalars)
    if (scalar.index)
      fn(scalar.index);
  for (Box &box : boxes)
    for (Box::Range &range : box.ranges)
      fn(range.index);
  for (Store &store : stores)
    fn(store.index);
}

void KernelProgram::forEachIndex(llvm::function_ref<void(AffineExpr)> fn) const {
  KernelProgram copy = *this;
  copy.forEachIndex([&](AffineExpr &index) { fn(index); });
}

AffineExpr KernelProgram::getConvertedIndex(unsigned id) const {
  const Scalar &scalar = scalars[id];
  if (scalar.kind == Scalar::Kind::Index)
    return scalar.index;
  if (!isa_and_present<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp>(scalar.op) ||
      scalar.type.isInteger(1))
    return {};
  return getConvertedIndex(scalar.operands.front());
}

std::optional<std::pair<AffineExpr, unsigned>> KernelProgram::getIndexTest(unsigned id) const {
  const Scalar &scalar = scalars[id];
  auto compare = dyn_cast_if_present<arith::CmpIOp>(scalar.op);
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return std::nullopt;
  unsigned lhs = scalar.operands[0], rhs = scalar.operands[1];
  AffineExpr ofLhs = getConvertedIndex(lhs), ofRhs = getConvertedIndex(rhs);
  if (!ofLhs == !ofRhs)
    return std::nullopt;
  return ofLhs ? std::pair(ofLhs, rhs) : std::pair(ofRhs, lhs);
}

static bool isNarrow(Type type) { return type.isBF16() || type.isF16(); }

SmallVector<bool> KernelProgram::findRoughExponentials() const {
  // For each scalar: true if the outputs depend on it only through rounding.
  SmallVector<bool> rounded(scalars.size(), true), rough;
  for (const Store &store : stores)
    rounded[store.value] = isNarrow(scalars[store.value].type);
  for (unsigned id = scalars.size(); id-- > 0;)
    for (unsigned operand : scalars[id].operands)
      rounded[operand] = rounded[operand] && (rounded[id] || isNarrow(scalars[id].type));
  for (auto [id, scalar] : llvm::enumerate(scalars))
    rough.push_back(isa_and_present<math::ExpOp>(scalar.op) && scalar.type.isF32() && rounded[id]);
  return rough;
}

SmallVector<unsigned> KernelProgram::collectOperands(ArrayRef<unsigned> roots) const {
  SmallVector<unsigned> waiting(roots);
  llvm::SmallSetVector<unsigned, 16> found;
  while (!waiting.empty()) {
    unsigned id = waiting.pop_back_val();
    if (!found.insert(id))
      continue;
    // The terms of a reduction are computed in its loops; its initial value is not.
    ArrayRef<unsigned> operands = scalars[id].operands;
    llvm::append_range(waiting, scalars[id].kind == Scalar::Kind::Reduced ? operands.drop_front() : operands);
  }
  SmallVector<unsigned> ids = found.takeVector();
  llvm::sort(ids);
  return ids;
}

void KernelProgram::collectDeviceSources(const DeviceKernel &kernel, DeviceSources &sources) const {
  auto insertFor = [&](Type type) {
    if (StringRef source = ExpressionPrinter::getDeviceSource(type); !source.empty())
      sources.insert(source);
  };
  for (MemRefType operand : kernel.operands)
    insertFor(operand.getElementType());
  if (kernel.updatesParameters())
    sources.insert("scalar.cuh");
  SmallVector<bool> rough = findRoughExponentials();
  for (auto [id, scalar] : llvm::enumerate(scalars)) {
    insertFor(scalar.type);
    if (getIndexTest(id) || rough[id] || (scalar.op && ExpressionPrinter::usesScalarFunctions(scalar.op)) ||
        (scalar.constant && ExpressionPrinter::usesScalarFunctions(scalar.constant)) ||
        (scalar.kind == Scalar::Kind::Reduced && ExpressionPrinter::usesScalarFunctions(getNeutralElement(scalar))))
      sources.insert("scalar.cuh");
  }
}

TypedAttr cs336::cuda::getNeutralElement(const Scalar &reduced) { return *arith::getNeutralElement(reduced.op); }
