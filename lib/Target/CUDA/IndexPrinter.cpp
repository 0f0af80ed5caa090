//===- IndexPrinter.cpp - Index arithmetic as C++ -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexPrinter.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace cs336::cuda;

Expression IndexPrinter::print(AffineExpr index) const {
  if (auto dim = dyn_cast<AffineDimExpr>(index))
    return {getVariable(dim.getPosition())};
  if (auto constant = dyn_cast<AffineConstantExpr>(index))
    return {std::to_string(constant.getValue()), constant.getValue() < 0 ? Precedence::Unary : Precedence::Primary};
  auto binary = cast<AffineBinaryOpExpr>(index);
  // i0 - 64 rather than i0 + -64.
  auto addend = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() == AffineExprKind::Add && addend && addend.getValue() < 0)
    return Expression::infix(print(binary.getLHS()), "-", {std::to_string(-addend.getValue())}, Precedence::Additive);
  Expression lhs = print(binary.getLHS()), rhs = print(binary.getRHS());
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return Expression::infix(lhs, "+", rhs, Precedence::Additive);
  case AffineExprKind::Mul:
    return Expression::infix(lhs, "*", rhs, Precedence::Multiplicative);
  case AffineExprKind::FloorDiv:
    return Expression::infix(lhs, "/", rhs, Precedence::Multiplicative);
  case AffineExprKind::Mod:
    return Expression::infix(lhs, "%", rhs, Precedence::Multiplicative);
  default:
    llvm_unreachable("ceildiv does not come from an index of a tensor");
  }
}

void IndexPrinter::emitPoint(raw_ostream &os, ArrayRef<int64_t> extents, int64_t width, int64_t threadsPerBlock) const {
  std::string block = use64Bit ? ("static_cast<" + getType() + ">(blockIdx.x)").str() : "blockIdx.x";
  std::string thread = block + " * " + std::to_string(threadsPerBlock) + " + threadIdx.x";
  // Points are counted in vectors first, and the innermost dimension is scaled last.
  SmallVector<int64_t> counts(extents);
  if (counts.empty())
    counts.push_back(1);
  counts.back() /= width;
  bool single = counts.size() == 1;
  std::string scale = width == 1 ? "" : " * " + std::to_string(width);

  std::string item = single && width == 1 ? getVariable(0) : "item";
  os << "  const " << getType() << " " << item << " = " << thread << ";\n"
     << "  if (" << item << " >= " << ShapedType::getNumElements(counts) << ")\n    return;\n";
  if (single) {
    if (width != 1)
      os << "  const " << getType() << " i0 = item" << scale << ";\n";
    return;
  }
  int64_t inner = 1;
  for (unsigned dim = counts.size(); dim-- > 0;) {
    os << "  const " << getType() << " " << getVariable(dim) << " = item";
    if (inner != 1)
      os << " / " << inner;
    if (dim != 0)
      os << " % " << counts[dim];
    if (dim + 1 == counts.size())
      os << scale;
    os << ";\n";
    inner *= counts[dim];
  }
}
