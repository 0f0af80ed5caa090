//===- ExpressionPrinter.cpp - Scalar operations as C++ -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

#include <charconv>

using namespace mlir;
using namespace cs336::cuda;

//===----------------------------------------------------------------------===//
// Operations whose text is a symbol or a function's name
//===----------------------------------------------------------------------===//

namespace {

struct Spelling {
  enum class Form { Infix, Function, FloatFunction };
  llvm::StringLiteral op;
  Form form;
  /// An operator or a function. A FloatFunction has the name of the function for double; the function for float ends in
  /// `f`.
  llvm::StringLiteral text;
  Precedence precedence = Precedence::Primary;
  llvm::StringLiteral noun = "";
  /// Returns whether the result needs no rounding when the operands are representable in a narrow float type.
  bool exact = false;
  /// Returns whether the operands are read as unsigned numbers: also where the result may wrap around, because the
  /// overflow of signed numbers is undefined.
  bool isUnsigned = false;
};

constexpr auto Infix = Spelling::Form::Infix;
constexpr auto Function = Spelling::Form::Function;
constexpr auto FloatFunction = Spelling::Form::FloatFunction;

} // namespace

static const Spelling *findSpelling(Operation *op) {
  static constexpr Spelling spellings[] = {
      {"arith.addf", Infix, "+", Precedence::Additive, "sum"},
      {"arith.subf", Infix, "-", Precedence::Additive, "difference"},
      {"arith.mulf", Infix, "*", Precedence::Multiplicative, "product"},
      {"arith.divf", Infix, "/", Precedence::Multiplicative, "quotient"},
      {"arith.divui", Infix, "/", Precedence::Multiplicative, "quotient", false, true},
      {"arith.remui", Infix, "%", Precedence::Multiplicative, "remainder", false, true},
      {"arith.shrui", Infix, ">>", Precedence::Shift, "shifted", false, true},
      {"arith.maxui", Function, "maximum", Precedence::Primary, "largest", false, true},
      {"arith.minui", Function, "minimum", Precedence::Primary, "smallest", false, true},
      {"arith.addi", Infix, "+", Precedence::Additive, "sum", false, true},
      {"arith.subi", Infix, "-", Precedence::Additive, "difference", false, true},
      {"arith.muli", Infix, "*", Precedence::Multiplicative, "product", false, true},
      {"arith.divsi", Infix, "/", Precedence::Multiplicative, "quotient"},
      {"arith.remsi", Infix, "%", Precedence::Multiplicative, "remainder"},
      {"arith.andi", Infix, "&", Precedence::Bitwise, "both"},
      {"arith.ori", Infix, "|", Precedence::Bitwise, "either"},
      {"arith.xori", Infix, "^", Precedence::Bitwise, "unequal"},
      {"arith.shli", Infix, "<<", Precedence::Shift, "shifted", false, true},
      {"arith.shrsi", Infix, ">>", Precedence::Shift, "shifted"},
      {"arith.maximumf", Function, "maximum", Precedence::Primary, "largest", true},
      {"arith.minimumf", Function, "minimum", Precedence::Primary, "smallest", true},
      {"arith.maxnumf", FloatFunction, "fmax", Precedence::Primary, "largest", true},
      {"arith.minnumf", FloatFunction, "fmin", Precedence::Primary, "smallest", true},
      {"arith.maxsi", Function, "maximum", Precedence::Primary, "largest"},
      {"arith.minsi", Function, "minimum", Precedence::Primary, "smallest"},
      {"arith.remf", FloatFunction, "fmod", Precedence::Primary, "remainder", true},
      {"math.absf", FloatFunction, "fabs", Precedence::Primary, "magnitude", true},
      {"math.ceil", FloatFunction, "ceil", Precedence::Primary, "rounded", true},
      {"math.copysign", FloatFunction, "copysign", Precedence::Primary, "signed", true},
      {"math.cos", FloatFunction, "cos", Precedence::Primary, "cosine"},
      {"math.erf", FloatFunction, "erf", Precedence::Primary, "error"},
      {"math.exp", FloatFunction, "exp", Precedence::Primary, "exponential"},
      {"math.exp2", FloatFunction, "exp2", Precedence::Primary, "power"},
      {"math.expm1", FloatFunction, "expm1", Precedence::Primary, "exponential"},
      {"math.floor", FloatFunction, "floor", Precedence::Primary, "rounded", true},
      {"math.fma", FloatFunction, "fma", Precedence::Primary, "sum"},
      {"math.log", FloatFunction, "log", Precedence::Primary, "logarithm"},
      {"math.log1p", FloatFunction, "log1p", Precedence::Primary, "logarithm"},
      {"math.log2", FloatFunction, "log2", Precedence::Primary, "logarithm"},
      {"math.powf", FloatFunction, "pow", Precedence::Primary, "power"},
      {"math.roundeven", FloatFunction, "rint", Precedence::Primary, "rounded", true},
      {"math.rsqrt", FloatFunction, "rsqrt", Precedence::Primary, "inverse_root"},
      {"math.sin", FloatFunction, "sin", Precedence::Primary, "sine"},
      {"math.sqrt", FloatFunction, "sqrt", Precedence::Primary, "root"},
      {"math.tanh", FloatFunction, "tanh", Precedence::Primary, "tangent"},
      {"math.trunc", FloatFunction, "trunc", Precedence::Primary, "rounded", true},
  };
  const Spelling *found =
      llvm::find_if(spellings, [&](const Spelling &spelling) { return op->getName().getStringRef() == spelling.op; });
  return found == std::end(spellings) ? nullptr : found;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

StringRef ExpressionPrinter::getStorageType(Type type) {
  if (type.isBF16())
    return "__nv_bfloat16";
  if (type.isF16())
    return "__half";
  return getComputeType(type);
}

StringRef ExpressionPrinter::getComputeType(Type type) {
  if (type.isF64())
    return "double";
  if (isa<FloatType>(type))
    return "float";
  if (type.isInteger(1))
    return "bool";
  return type.isInteger(32) ? "int" : "long long";
}

StringRef ExpressionPrinter::getDeviceSource(Type type) {
  return type.isBF16() ? "bf16.cuh" : type.isF16() ? "f16.cuh" : "";
}

static bool isKnownType(Type type) {
  return type.isF64() || type.isF32() || type.isBF16() || type.isF16() || type.isInteger(1) || type.isInteger(32) ||
         type.isInteger(64) || type.isIndex();
}

static StringRef getUnsignedType(Type type) { return type.isInteger(32) ? "unsigned" : "unsigned long long"; }

Expression ExpressionPrinter::printLoaded(Type type, const Expression &element) {
  if (type.isBF16())
    return Expression::call("__bfloat162float", element);
  return type.isF16() ? Expression::call("__half2float", element) : element;
}

Expression ExpressionPrinter::printStored(Type type, const Expression &value) {
  if (type.isBF16())
    return Expression::call("__float2bfloat16_rn", value);
  return type.isF16() ? Expression::call("__float2half_rn", value) : value;
}

static Expression roundTo(Type type, const Expression &value) {
  if (type.isBF16())
    return Expression::call("roundToBF16", value);
  return type.isF16() ? Expression::call("roundToF16", value) : value;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Expression printFloat(APFloat value, Type type) {
  bool isDouble = type.isF64(), lost;
  value.convert(isDouble ? APFloat::IEEEdouble() : APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
  if (!value.isFinite()) {
    Expression special{value.isNaN() ? "notANumber()" : "infinity()"};
    if (isDouble)
      special = Expression::staticCast("double", special);
    return value.isNegative() ? Expression{"-" + special.text, Precedence::Unary} : special;
  }
  Precedence precedence = value.isNegative() ? Precedence::Unary : Precedence::Primary;
  // Returns the shortest text that is parsed as the same number.
  char digits[32];
  std::to_chars_result end = isDouble ? std::to_chars(digits, std::end(digits), value.convertToDouble())
                                      : std::to_chars(digits, std::end(digits), value.convertToFloat());
  std::string text(digits, end.ptr);
  if (StringRef(text).find_first_of(".e") == StringRef::npos)
    text += ".0";
  return {text + (isDouble ? "" : "f"), precedence};
}

Expression ExpressionPrinter::print(TypedAttr constant) {
  if (auto value = dyn_cast<FloatAttr>(constant))
    return printFloat(value.getValue(), value.getType());
  const APInt &value = cast<IntegerAttr>(constant).getValue();
  if (value.getBitWidth() == 1)
    return {value.isOne() ? "true" : "false"};
  // The most negative number has no literal in its own type.
  if (value.isMinSignedValue())
    return {"(" + std::to_string(value.getSExtValue() + 1) + (value.getBitWidth() == 64 ? "LL" : "") + " - 1)"};
  std::string text = std::to_string(value.getSExtValue()) + (value.getBitWidth() == 64 ? "LL" : "");
  return {text, value.isNegative() ? Precedence::Unary : Precedence::Primary};
}

Expression ExpressionPrinter::printZero(Type type) {
  if (!getDeviceSource(type).empty())
    return {(getStorageType(type) + "()").str()};
  return print(Builder(type.getContext()).getZeroAttr(type));
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static Expression negate(const Expression &value) { return {"!" + value.in(Precedence::Unary), Precedence::Unary}; }

static Expression compare(const Expression &lhs, StringRef op, const Expression &rhs) {
  return Expression::infix(lhs, op, rhs, op == "==" || op == "!=" ? Precedence::Equality : Precedence::Relational);
}

static Expression printComparison(arith::CmpFPredicate predicate, const Expression &lhs, const Expression &rhs) {
  auto either = [&](StringRef first, StringRef second) {
    return Expression::infix(compare(lhs, first, rhs), "||", compare(lhs, second, rhs), Precedence::LogicalOr);
  };
  auto ordered = [&] {
    return Expression::infix(compare(lhs, "==", lhs), "&&", compare(rhs, "==", rhs), Precedence::LogicalAnd);
  };
  using Predicate = arith::CmpFPredicate;
  switch (predicate) {
  case Predicate::AlwaysFalse:
    return {"false"};
  case Predicate::AlwaysTrue:
    return {"true"};
  case Predicate::OEQ:
    return compare(lhs, "==", rhs);
  case Predicate::OGT:
    return compare(lhs, ">", rhs);
  case Predicate::OGE:
    return compare(lhs, ">=", rhs);
  case Predicate::OLT:
    return compare(lhs, "<", rhs);
  case Predicate::OLE:
    return compare(lhs, "<=", rhs);
  case Predicate::ONE:
    return either("<", ">");
  case Predicate::ORD:
    return ordered();
  case Predicate::UEQ:
    return negate(either("<", ">"));
  case Predicate::UGT:
    return negate(compare(lhs, "<=", rhs));
  case Predicate::UGE:
    return negate(compare(lhs, "<", rhs));
  case Predicate::ULT:
    return negate(compare(lhs, ">=", rhs));
  case Predicate::ULE:
    return negate(compare(lhs, ">", rhs));
  case Predicate::UNE:
    return compare(lhs, "!=", rhs);
  case Predicate::UNO:
    return negate(ordered());
  }
  llvm_unreachable("all predicates are handled");
}

static Expression printComparison(arith::CmpIOp op, Expression lhs, Expression rhs) {
  using Predicate = arith::CmpIPredicate;
  Type type = op.getLhs().getType();
  // As a signed one-bit number, true is −1, but order comparisons of such numbers are rejected; see whyUnknown.
  bool isUnsigned =
      llvm::is_contained({Predicate::ult, Predicate::ule, Predicate::ugt, Predicate::uge}, op.getPredicate());
  if (isUnsigned && !type.isInteger(1)) {
    lhs = Expression::staticCast(getUnsignedType(type), lhs);
    rhs = Expression::staticCast(getUnsignedType(type), rhs);
  }
  switch (op.getPredicate()) {
  case Predicate::eq:
    return compare(lhs, "==", rhs);
  case Predicate::ne:
    return compare(lhs, "!=", rhs);
  case Predicate::slt:
  case Predicate::ult:
    return compare(lhs, "<", rhs);
  case Predicate::sle:
  case Predicate::ule:
    return compare(lhs, "<=", rhs);
  case Predicate::sgt:
  case Predicate::ugt:
    return compare(lhs, ">", rhs);
  case Predicate::sge:
  case Predicate::uge:
    return compare(lhs, ">=", rhs);
  }
  llvm_unreachable("all predicates are handled");
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Returns the integer as an unsigned number of its width.
static Expression asUnsigned(Type type, const Expression &value) {
  return type.isInteger(1) ? value : Expression::staticCast(getUnsignedType(type), value);
}

/// Returns the integer as a signed number: true is −1.
static Expression asSigned(Type type, const Expression &value) {
  return type.isInteger(1) ? Expression{"-" + Expression::staticCast("int", value).text, Precedence::Unary} : value;
}

static Expression printConversion(Operation *op, const Expression &value) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  StringRef type = ExpressionPrinter::getComputeType(to);
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    bool sameVariable = ExpressionPrinter::getComputeType(from) == type;
    bool widens = from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
    // A double is rounded to a narrow type directly, not through float.
    bool rounds = !widens && !to.isF32();
    return rounds ? roundTo(to, value) : sameVariable ? value : Expression::staticCast(type, value);
  }
  if (isa<arith::SIToFPOp>(op))
    return roundTo(to, Expression::staticCast(type, asSigned(from, value)));
  if (isa<arith::UIToFPOp>(op))
    return roundTo(to, Expression::staticCast(type, asUnsigned(from, value)));
  if (isa<arith::FPToUIOp>(op))
    return Expression::staticCast(type, Expression::staticCast(getUnsignedType(to), value));
  if (isa<arith::TruncIOp>(op) && to.isInteger(1))
    return compare(Expression::infix(value, "&", {"1"}, Precedence::Bitwise), "!=", {"0"});
  if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op))
    return Expression::staticCast(type, asUnsigned(from, value));
  bool sameVariable = ExpressionPrinter::getComputeType(from) == type;
  return sameVariable ? value : Expression::staticCast(type, asSigned(from, value));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static bool isConversion(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp,
             arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op);
}

std::string ExpressionPrinter::whyUnknown(Operation *op) {
  bool known =
      isConversion(op) || isa<arith::NegFOp, arith::CmpFOp, arith::CmpIOp, arith::SelectOp>(op) || findSpelling(op);
  if (!known)
    return ("contains " + op->getName().getStringRef() + ", which has no spelling in CUDA C++ yet").str();
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types)
    if (!isKnownType(type)) {
      std::string text;
      llvm::raw_string_ostream(text) << "computes in " << type << ", which has no type in the generated text";
      return text;
    }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (compare && compare.getLhs().getType().isInteger(1) && compare.getPredicate() > arith::CmpIPredicate::ne &&
      compare.getPredicate() < arith::CmpIPredicate::ult)
    return "orders signed numbers of one bit";
  return "";
}

bool ExpressionPrinter::usesScalarFunctions(TypedAttr constant) {
  auto value = dyn_cast<FloatAttr>(constant);
  return value && !value.getValue().isFinite();
}

bool ExpressionPrinter::usesScalarFunctions(Operation *op) {
  const Spelling *spelling = findSpelling(op);
  return spelling && spelling->form == Function;
}

/// Returns arithmetic on one-bit integers as logic.
static StringRef getLogicalOperator(StringRef op) { return op == "&" || op == "*" ? "&&" : op == "|" ? "||" : "!="; }

/// Returns whether the operation is an integer sum, difference, product or shift whose exact result fits into its type.
/// Positions do: tensors have at most 2^48 bytes.
static bool isExact(Operation *op) {
  auto arithmetic = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  return arithmetic && (arithmetic.hasNoSignedWrap() || op->getResult(0).getType().isIndex());
}

static Expression printSpelled(const Spelling &spelling, Type type, ArrayRef<Expression> operands) {
  if (spelling.isUnsigned && !type.isInteger(1)) {
    SmallVector<Expression, 2> numbers;
    for (const Expression &operand : operands)
      numbers.push_back(asUnsigned(type, operand));
    Spelling ofUnsigned = spelling;
    ofUnsigned.isUnsigned = false;
    return Expression::staticCast(ExpressionPrinter::getComputeType(type), printSpelled(ofUnsigned, type, numbers));
  }
  if (spelling.form == Infix) {
    if (!type.isInteger(1))
      return Expression::infix(operands[0], spelling.text, operands[1], spelling.precedence);
    StringRef op = getLogicalOperator(spelling.text);
    if (op == "!=" && operands[1].text == "true")
      return negate(operands[0]);
    Precedence precedence = op == "&&"   ? Precedence::LogicalAnd
                            : op == "||" ? Precedence::LogicalOr
                                         : Precedence::Equality;
    return Expression::infix(operands[0], op, operands[1], precedence);
  }
  std::string callee = spelling.text.str();
  if (spelling.form == FloatFunction && !type.isF64())
    callee += "f";
  std::string arguments;
  for (const Expression &operand : operands)
    arguments += (arguments.empty() ? "" : ", ") + operand.text;
  return {callee + "(" + arguments + ")"};
}

Expression ExpressionPrinter::printChoice(const Expression &condition, const Expression &ifTrue,
                                          const Expression &ifFalse) {
  return {condition.in(Precedence::LogicalOr) + " ? " + ifTrue.in(Precedence::LogicalOr) + " : " +
              ifFalse.in(Precedence::LogicalOr),
          Precedence::Conditional};
}

Expression ExpressionPrinter::print(Operation *op, ArrayRef<Expression> operands) {
  if (isConversion(op))
    return printConversion(op, operands[0]);
  Type type = op->getResult(0).getType();
  return llvm::TypeSwitch<Operation *, Expression>(op)
      .Case([&](arith::NegFOp) {
        // `- -x` must not become a decrement.
        Precedence tighter = operands[0].precedence == Precedence::Unary ? Precedence::Primary : Precedence::Unary;
        return Expression{"-" + operands[0].in(tighter), Precedence::Unary};
      })
      .Case([&](arith::CmpFOp compare) { return printComparison(compare.getPredicate(), operands[0], operands[1]); })
      .Case([&](arith::CmpIOp compare) { return printComparison(compare, operands[0], operands[1]); })
      .Case([&](arith::SelectOp) { return printChoice(operands[0], operands[1], operands[2]); })
      .Default([&](Operation *op) {
        Spelling spelling = *findSpelling(op);
        spelling.isUnsigned &= !isExact(op);
        Expression value = printSpelled(spelling, type, operands);
        return spelling.exact ? value : roundTo(type, value);
      });
}

StringRef ExpressionPrinter::getNoun(Operation *op) {
  if (const Spelling *spelling = findSpelling(op))
    return spelling->noun;
  if (isa<arith::CmpFOp, arith::CmpIOp>(op))
    return "holds";
  return isa<arith::SelectOp>(op) ? "chosen" : isConversion(op) ? "converted" : "negated";
}
