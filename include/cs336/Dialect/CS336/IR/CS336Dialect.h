//===- CS336Dialect.h - The cs336 dialect -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336DIALECT_H
#define CS336_DIALECT_CS336_IR_CS336DIALECT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/Hashing.h"

namespace cs336 {

/// A double as an attribute's parameter: it prints so that it reads back exactly, and equal bits hash equally.
struct Real {
  Real(double value) : value(value) {}
  operator double() const { return value; }

  double value;
};

inline llvm::hash_code hash_value(Real real) { return llvm::hash_value(llvm::bit_cast<uint64_t>(real.value)); }
mlir::AsmPrinter &operator<<(mlir::AsmPrinter &printer, Real real);

} // namespace cs336

template <>
struct mlir::FieldParser<cs336::Real> {
  static mlir::FailureOr<cs336::Real> parse(mlir::AsmParser &parser);
};

#include "cs336/Dialect/CS336/IR/CS336Dialect.h.inc"
#include "cs336/Dialect/CS336/IR/CS336Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "cs336/Dialect/CS336/IR/CS336Attributes.h.inc"

namespace cs336 {

/// Assembly of an enumeration's attribute inside an operation: the keyword alone (`sum` for `#cs336.reduce_kind<sum>`).
template <typename EnumAttrT>
mlir::ParseResult parseEnumerator(mlir::OpAsmParser &parser, EnumAttrT &attribute) {
  auto value = mlir::FieldParser<std::decay_t<decltype(attribute.getValue())>>::parse(parser);
  if (mlir::failed(value))
    return mlir::failure();
  attribute = EnumAttrT::get(parser.getContext(), *value);
  return mlir::success();
}
template <typename EnumAttrT>
void printEnumerator(mlir::OpAsmPrinter &printer, mlir::Operation *, EnumAttrT attribute) {
  printer << attribute.getValue();
}

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_CS336DIALECT_H
