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
  // Prints i0 - 64 rather than i0 + -64.
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

std::string IndexPrinter::getBlock() const {
  return use64Bit ? ("static_cast<" + getType() + ">(blockIdx.x)").str() : "blockIdx.x";
}

/// Extents in vectors along the last dimension.
static SmallVector<int64_t> countVectors(ArrayRef<int64_t> extents, int64_t width) {
  SmallVector<int64_t> counts(extents);
  if (!counts.empty())
    counts.back() /= width;
  return counts;
}

void IndexPrinter::emitPoint(raw_ostream &os, StringRef indent, unsigned first, ArrayRef<int64_t> extents,
                             StringRef position, int64_t width) const {
  // Points are counted in vectors first, and the innermost dimension is scaled last.
  SmallVector<int64_t> counts = countVectors(extents, width);
  int64_t inner = 1;
  for (unsigned dim = counts.size(); dim-- > 0;) {
    os << indent << "const " << getType() << " " << getVariable(first + dim) << " = " << position;
    if (inner != 1)
      os << " / " << inner;
    if (dim != 0)
      os << " % " << counts[dim];
    if (dim + 1 == counts.size() && width != 1)
      os << " * " << width;
    os << ";\n";
    inner *= counts[dim];
  }
}

void IndexPrinter::emitThreadPoint(raw_ostream &os, ArrayRef<int64_t> extents, int64_t width,
                                   int64_t threadsPerBlock) const {
  bool isVariable = extents.size() <= 1 && width == 1;
  std::string item = isVariable ? getVariable(0) : "item";
  os << "  const " << getType() << " " << item << " = " << getBlock() << " * " << threadsPerBlock << " + threadIdx.x;\n"
     << "  if (" << item << " >= " << ShapedType::getNumElements(countVectors(extents, width)) << ")\n    return;\n";
  if (!isVariable)
    emitPoint(os, "  ", 0, extents, item, width);
}

void IndexPrinter::emitLoop(raw_ostream &os, StringRef indent, unsigned first, ArrayRef<int64_t> extents, int64_t width,
                            StringRef begin, StringRef step) const {
  int64_t count = ShapedType::getNumElements(countVectors(extents, width));
  bool isVariable = extents.size() == 1 && width == 1;
  // Nested reductions have loops in loops, each with variables of its own.
  std::string item = isVariable ? getVariable(first) : "item" + std::to_string(first);
  os << "#pragma unroll 4\n"
     << indent << "for (" << getType() << " " << item << " = " << begin << "; " << item << " < " << count << "; ";
  if (step == "1")
    os << "++" << item;
  else
    os << item << " += " << step;
  os << ") {\n";
  if (!isVariable)
    emitPoint(os, (indent + "  ").str(), first, extents, item, width);
}
