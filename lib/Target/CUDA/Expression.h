//===- Expression.h - C++ expressions with their precedence -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_EXPRESSION_H
#define CS336_LIB_TARGET_CUDA_EXPRESSION_H

#include "llvm/ADT/Twine.h"

#include <string>

namespace cs336::cuda {

/// The precedence of an expression's outermost operator, lowest first.
enum class Precedence {
  Conditional,
  LogicalOr,
  LogicalAnd,
  Bitwise,
  Equality,
  Relational,
  Shift,
  Additive,
  Multiplicative,
  Unary,
  Primary
};

/// The text of an expression without side effects.
struct Expression {
  std::string text;
  Precedence precedence = Precedence::Primary;

  /// Returns the text, in parentheses if its precedence is lower than `needed`.
  std::string in(Precedence needed) const { return precedence < needed ? "(" + text + ")" : text; }

  /// Returns `lhs op rhs` for a left-associative operator.
  static Expression infix(const Expression &lhs, llvm::StringRef op, const Expression &rhs, Precedence precedence) {
    auto tighter = static_cast<Precedence>(static_cast<int>(precedence) + 1);
    return {lhs.in(precedence) + " " + op.str() + " " + rhs.in(tighter), precedence};
  }

  /// Returns `callee(a, b, …)`; with one argument it may be a cast.
  template <typename... Arguments>
  static Expression call(llvm::StringRef callee, const Expression &first, const Arguments &...rest) {
    std::string text = callee.str() + "(" + first.text;
    ((text += ", " + rest.text), ...);
    return {text + ")"};
  }

  static Expression staticCast(llvm::StringRef type, const Expression &value) {
    return call(("static_cast<" + type + ">").str(), value);
  }
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_EXPRESSION_H
