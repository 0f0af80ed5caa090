//===- ScoreInspection.cpp - Which tiles a score function hides -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreInspection.h"

#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {

/// The statements of the function. Expressions that are equal share a variable.
class Statements {
public:
  std::string define(StringRef type, StringRef noun, const std::string &expression) {
    auto [variable, isNew] = variables.try_emplace(expression);
    if (isNew) {
      variable->second = noun.str() + std::to_string(variables.size() - 1);
      text += ("      const " + type + " " + variable->second + " = " + expression + ";\n").str();
    }
    return variable->second;
  }
  const std::string &getText() const { return text; }

private:
  llvm::StringMap<std::string> variables;
  std::string text;
};

/// A result that a condition can be found to have for all pairs of a tile. It may depend on tables.
struct Possibility {
  bool isPossible = false, readsTables = false;

  Possibility operator&(Possibility other) const {
    bool both = isPossible && other.isPossible;
    return {both, both && (readsTables || other.readsTables)};
  }
  Possibility operator|(Possibility other) const {
    return {isPossible || other.isPossible, readsTables || other.readsTables};
  }
};

/// The results that a condition can have over a tile: known here, or a text of type Outcomes.
struct Condition {
  enum class Kind { Always, Never, Unknown, Text };
  Kind kind;
  std::string text;
  Possibility always, never;

  static Condition constant(bool holds) {
    return {holds ? Kind::Always : Kind::Never, "", {holds, false}, {!holds, false}};
  }
  static Condition unknown() { return {Kind::Unknown, "Outcomes{true, true}", {}, {}}; }
  static Condition found(std::string text, bool readsTables) {
    return {Kind::Text, std::move(text), {true, readsTables}, {true, readsTables}};
  }
  bool isAlways() const { return kind == Kind::Always; }
  bool isNever() const { return kind == Kind::Never; }
};

/// Finds the conditions of one function of scalars. Conditions in `assumed` have the given results.
class Finder {
public:
  using Assumed = DenseMap<Value, bool>;
  Finder(func::FuncOp scalars, const ScoreFunctionPrinter &printer, Statements &statements, Assumed assumed = Assumed())
      : scalars(scalars), printer(printer), statements(statements), assumed(std::move(assumed)) {
    findDependences();
  }

  /// Returns the condition that a score is visible, as far as −∞ shows that it is not.
  Condition findVisible() { return findVisible(scalars.getBody().front().getTerminator()->getOperand(0)); }
  /// Returns the conditions that were found without others, and whose results the score depends on.
  ArrayRef<Value> getLeaves() const { return leaves; }
  Condition find(Value condition);

private:
  /// The arguments that a value depends on.
  enum Dependence : unsigned { Query = 1, Key = 2, Table = 4, Other = 8 };

  void findDependences();
  unsigned getDependence(Value value) const { return dependences.lookup(value); }
  /// Returns a text of type `type` for a value that depends on the query alone or on the key alone.
  std::optional<std::string> findOverPositions(Value value, StringRef type, StringRef noun, StringRef function);
  std::optional<std::string> findInterval(Value number);
  Condition findComparison(arith::CmpIOp comparison);
  Condition findLeaf(Value condition);
  Condition infer(Value condition);
  Condition inferVisible(Value score);
  Condition findVisible(Value score);

  Condition negate(const Condition &a) const;
  Condition both(const Condition &a, const Condition &b);
  Condition either(const Condition &a, const Condition &b) { return negate(both(negate(a), negate(b))); }
  Condition choose(const Condition &condition, const Condition &a, const Condition &b);
  Condition define(StringRef noun, const std::string &expression, Possibility always, Possibility never);

  func::FuncOp scalars;
  const ScoreFunctionPrinter &printer;
  Statements &statements;
  Assumed assumed;
  DenseMap<Value, unsigned> dependences;
  DenseMap<Value, Condition> conditions, visible;
  SmallVector<Value> leaves;
};

} // namespace

//===----------------------------------------------------------------------===//
// Logic
//===----------------------------------------------------------------------===//

Condition Finder::define(StringRef noun, const std::string &expression, Possibility always, Possibility never) {
  // A condition without a possible result is as good as unknown.
  if (!always.isPossible && !never.isPossible)
    return Condition::unknown();
  return {Condition::Kind::Text, statements.define("Outcomes", noun, expression), always, never};
}

Condition Finder::negate(const Condition &a) const {
  if (a.kind == Condition::Kind::Always || a.kind == Condition::Kind::Never)
    return Condition::constant(a.isNever());
  if (a.kind == Condition::Kind::Unknown)
    return a;
  StringRef inner = a.text;
  bool isNegated = inner.consume_front("opposite(") && inner.consume_back(")");
  return {a.kind, isNegated ? inner.str() : "opposite(" + a.text + ")", a.never, a.always};
}

Condition Finder::both(const Condition &a, const Condition &b) {
  if (a.isNever() || b.isNever())
    return Condition::constant(false);
  if (a.isAlways() || b.isAlways())
    return a.isAlways() ? b : a;
  return define("both", "both(" + a.text + ", " + b.text + ")", a.always & b.always, a.never | b.never);
}

Condition Finder::choose(const Condition &condition, const Condition &a, const Condition &b) {
  if (condition.isAlways() || condition.isNever())
    return condition.isAlways() ? a : b;
  if (a.isNever())
    return both(negate(condition), b);
  if (a.isAlways())
    return either(condition, b);
  if (b.isNever())
    return both(condition, a);
  if (b.isAlways())
    return either(negate(condition), a);
  auto chosen = [&](Possibility ofA, Possibility ofB) {
    return (ofA & ofB) | (condition.always & ofA) | (condition.never & ofB);
  };
  return define("chosen", "choose(" + condition.text + ", " + a.text + ", " + b.text + ")", chosen(a.always, b.always),
                chosen(a.never, b.never));
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

void Finder::findDependences() {
  Block &body = scalars.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    static constexpr unsigned ofArguments[] = {Other, 0, Other, Query, Key};
    unsigned number = argument.getArgNumber();
    dependences[argument] = number < score::kFirstTable ? ofArguments[number] : Table;
  }
  for (Operation &op : body.without_terminator()) {
    unsigned dependence = 0;
    for (Value operand : op.getOperands())
      dependence |= getDependence(operand);
    for (Value result : op.getResults())
      dependences[result] = dependence;
  }
}

std::optional<std::string> Finder::findOverPositions(Value value, StringRef type, StringRef noun, StringRef function) {
  unsigned dependence = getDependence(value);
  if (dependence & Other || (dependence & Query && dependence & Key))
    return std::nullopt;
  std::optional<Expression> text = printer.printValue(value);
  if (!text)
    return std::nullopt;
  bool isOfKeys = dependence & Key;
  return statements.define(type, noun,
                           ("tile." + function + (isOfKeys ? "Keys([&](int key)" : "Queries([&](int query)") +
                            " { return " + text->text + "; })")
                               .str());
}

std::optional<std::string> Finder::findInterval(Value number) {
  // Operations on intervals are those on 32 bits.
  if (!number.getType().isInteger(32))
    return std::nullopt;
  if (std::optional<std::string> interval = findOverPositions(number, "Interval", "values", "over"))
    return interval;
  Operation *op = number.getDefiningOp();
  if (!isa_and_present<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  std::optional<std::string> lhs = findInterval(op->getOperand(0)), rhs = findInterval(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  return statements.define("Interval", "values",
                           (isa<arith::AddIOp>(op) ? "add(" : "subtract(") + *lhs + ", " + *rhs + ")");
}

Condition Finder::findComparison(arith::CmpIOp comparison) {
  std::optional<std::string> lhs = findInterval(comparison.getLhs()), rhs = findInterval(comparison.getRhs());
  if (!lhs || !rhs)
    return Condition::unknown();
  auto compare = [&](StringRef noun, const std::string &a, const std::string &b) {
    std::string text = (noun == "equal" ? "areEqual(" : "isLess(") + a + ", " + b + ")";
    return Condition::found(statements.define("Outcomes", noun, text), getDependence(comparison) & Table);
  };
  switch (comparison.getPredicate()) {
  case arith::CmpIPredicate::eq:
    return compare("equal", *lhs, *rhs);
  case arith::CmpIPredicate::ne:
    return negate(compare("equal", *lhs, *rhs));
  case arith::CmpIPredicate::slt:
    return compare("less", *lhs, *rhs);
  case arith::CmpIPredicate::sge:
    return negate(compare("less", *lhs, *rhs));
  case arith::CmpIPredicate::sgt:
    return compare("less", *rhs, *lhs);
  case arith::CmpIPredicate::sle:
    return negate(compare("less", *rhs, *lhs));
  default:
    return Condition::unknown();
  }
}

Condition Finder::findLeaf(Value condition) {
  Condition found = Condition::unknown();
  if (auto text = findOverPositions(condition, "Outcomes", "holds", "test"))
    found = Condition::found(*text, getDependence(condition) & Table);
  else if (auto comparison = condition.getDefiningOp<arith::CmpIOp>())
    found = findComparison(comparison);
  if (found.kind == Condition::Kind::Text)
    leaves.push_back(condition);
  return found;
}

Condition Finder::infer(Value condition) {
  if (auto result = assumed.find(condition); result != assumed.end())
    return Condition::constant(result->second);
  APInt constant;
  if (matchPattern(condition, m_ConstantInt(&constant)))
    return Condition::constant(!constant.isZero());
  Condition leaf = findLeaf(condition);
  if (leaf.kind != Condition::Kind::Unknown || !condition.getDefiningOp())
    return leaf;
  return llvm::TypeSwitch<Operation *, Condition>(condition.getDefiningOp())
      .Case<arith::AndIOp, arith::OrIOp>([&](auto op) {
        Condition lhs = find(op.getLhs()), rhs = find(op.getRhs());
        return isa<arith::AndIOp>(op) ? both(lhs, rhs) : either(lhs, rhs);
      })
      .Case([&](arith::XOrIOp op) {
        bool isNot = matchPattern(op.getRhs(), m_One());
        return isNot ? negate(find(op.getLhs())) : Condition::unknown();
      })
      .Case([&](arith::SelectOp op) {
        Condition chosen = find(op.getCondition());
        Condition ifTrue = find(op.getTrueValue()), ifFalse = find(op.getFalseValue());
        return choose(chosen, ifTrue, ifFalse);
      })
      .Default([](Operation *) { return Condition::unknown(); });
}

Condition Finder::find(Value condition) {
  auto known = conditions.find(condition);
  if (known == conditions.end()) {
    Condition found = infer(condition);
    known = conditions.try_emplace(condition, std::move(found)).first;
  }
  return known->second;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

static std::optional<double> getFloat(Value value) {
  APFloat constant(0.0);
  if (!matchPattern(value, m_ConstantFloat(&constant)))
    return std::nullopt;
  return constant.convertToDouble();
}

Condition Finder::inferVisible(Value score) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto isPositive = [](Value factor) {
    std::optional<double> constant = getFloat(factor);
    return constant && *constant > 0 && *constant < infinity;
  };
  if (std::optional<double> constant = getFloat(score))
    return Condition::constant(*constant != -infinity);
  if (!score.getDefiningOp())
    return Condition::constant(true);
  return llvm::TypeSwitch<Operation *, Condition>(score.getDefiningOp())
      .Case([&](arith::SelectOp op) {
        Condition chosen = find(op.getCondition());
        Condition ifTrue = findVisible(op.getTrueValue()), ifFalse = findVisible(op.getFalseValue());
        return choose(chosen, ifTrue, ifFalse);
      })
      .Case([&](arith::AddFOp op) {
        Condition lhs = findVisible(op.getLhs()), rhs = findVisible(op.getRhs());
        return both(lhs, rhs);
      })
      .Case([&](arith::SubFOp op) { return findVisible(op.getLhs()); })
      .Case([&](arith::MulFOp op) {
        if (isPositive(op.getRhs()))
          return findVisible(op.getLhs());
        return isPositive(op.getLhs()) ? findVisible(op.getRhs()) : Condition::constant(true);
      })
      .Case([&](arith::DivFOp op) {
        return isPositive(op.getRhs()) ? findVisible(op.getLhs()) : Condition::constant(true);
      })
      .Default([](Operation *) { return Condition::constant(true); });
}

Condition Finder::findVisible(Value score) {
  auto known = visible.find(score);
  if (known == visible.end()) {
    Condition found = inferVisible(score);
    known = visible.try_emplace(score, std::move(found)).first;
  }
  return known->second;
}

//===----------------------------------------------------------------------===//
// ScoreInspection
//===----------------------------------------------------------------------===//

ScoreInspection::ScoreInspection(func::FuncOp general, func::FuncOp interior, const ScoreFunctionPrinter &printer) {
  Statements text;
  Condition seen = Finder(general, printer, text).findVisible();
  canHide = seen.never.readsTables;
  isSeen = seen.text + ".canHold";

  Finder inside(interior, printer, text);
  inside.findVisible();
  SmallVector<std::string> whole;
  for (Value condition : inside.getLeaves())
    for (bool holds : {true, false}) {
      Statements unused;
      if (!Finder(interior, printer, unused, {{condition, !holds}}).findVisible().isNever())
        continue;
      conditionsOfWhole.emplace_back(condition, holds);
      whole.push_back("!" + inside.find(condition).text + (holds ? ".canFail" : ".canHold"));
      break;
    }
  isWhole = whole.empty() ? "true" : llvm::join(whole, " && ");
  statements = text.getText();
}

std::string ScoreInspection::print() const {
  std::string batch = StringRef(statements).contains("batch") ? "      const int batch = tile.batch;\n" : "";
  return "    __device__ TileInspection inspect(const PairTile &tile) const {\n" + batch + statements +
         "      return {" + isSeen + ", " + isWhole + "};\n    }\n";
}
