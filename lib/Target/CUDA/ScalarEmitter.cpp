//===- ScalarEmitter.cpp - The scalars of a program as C++ -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarEmitter.h"
#include "ExpressionPrinter.h"
#include "IterationSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <map>

using namespace mlir;
using namespace cs336::cuda;

//===----------------------------------------------------------------------===//
// Around the statements
//===----------------------------------------------------------------------===//

void cs336::cuda::emitSignature(raw_ostream &os, const DeviceKernel &kernel, StringRef symbol, int64_t threads,
                                bool hasWorkspace, ArrayRef<std::string> tensorMaps) {
  SmallVector<std::string> parameters;
  for (auto [i, type] : llvm::enumerate(kernel.operands))
    parameters.push_back((i < kernel.numInputs ? "const " : "") +
                         ExpressionPrinter::getStorageType(type.getElementType()).str() + " *" +
                         kernel.getOperandName(i));
  if (hasWorkspace)
    parameters.push_back("unsigned char *workspace");
  for (const std::string &map : tensorMaps)
    parameters.push_back("const __grid_constant__ TensorMap " + map);

  constexpr size_t lineWidth = 120;
  std::string line = (symbol + "(").str();
  const std::string indent(line.size(), ' ');
  os << "extern \"C\" __global__ void __launch_bounds__(" << threads << (tensorMaps.empty() ? "" : ", 1") << ")\n";
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    std::string text = parameter + (i + 1 < parameters.size() ? "," : ") {");
    if (line.size() + text.size() >= lineWidth) {
      os << line << "\n";
      line = indent;
    } else if (i != 0) {
      line += " ";
    }
    line += text;
  }
  os << line << "\n";
}

/// Scalars of one table share its array, named for the first of them.
static std::string getTableName(const DeviceKernel &kernel, const KernelProgram &program, DenseElementsAttr table) {
  unsigned number = 0;
  while (program.scalars[number].table != table)
    ++number;
  return kernel.name + "_table" + std::to_string(number);
}

void cs336::cuda::emitTables(raw_ostream &os, const DeviceKernel &kernel, const KernelProgram &program) {
  llvm::SmallSetVector<Attribute, 2> tables;
  for (const Scalar &scalar : program.scalars)
    if (scalar.table)
      tables.insert(scalar.table);
  for (Attribute attribute : tables) {
    auto table = cast<DenseElementsAttr>(attribute);
    os << "static __device__ const " << ExpressionPrinter::getComputeType(table.getElementType()) << " "
       << getTableName(kernel, program, table) << "[" << table.getNumElements() << "] = {";
    llvm::interleave(
        table.getValues<TypedAttr>(), os, [&](TypedAttr value) { os << ExpressionPrinter::print(value).text; }, ", ");
    os << "};\n\n";
  }
}

static std::string getBoxVariable(unsigned box) { return "inside" + std::to_string(box); }

/// Returns a word for the name of a variable with the scalar.
static StringRef getNoun(const Scalar &scalar) {
  switch (scalar.kind) {
  case Scalar::Kind::Operation:
    return ExpressionPrinter::getNoun(scalar.op);
  case Scalar::Kind::Index:
    return "index";
  case Scalar::Kind::Gather:
    return "gathered";
  case Scalar::Kind::Choice:
    return "chosen";
  case Scalar::Kind::Reduced:
    return "reduced";
  case Scalar::Kind::Load:
  case Scalar::Kind::Table:
  case Scalar::Kind::Constant:
    return "value";
  }
  llvm_unreachable("all kinds are handled");
}

ScalarEmitter::ScalarEmitter(const DeviceKernel &kernel, const KernelProgram &program, const IndexPrinter &indices,
                             VectorAxis vectors, raw_ostream &os)
    : kernel(kernel), program(program), indices(indices), vectors(vectors), os(os), expressions(program.scalars.size()),
      roughExponentials(program.findRoughExponentials()), hasRoughQuotients(kernel.updatesParameters()),
      uses(program.scalars.size(), 0), timesLoaded(kernel.operands.size(), 0), knownBoxes(program.boxes.size(), false) {
  for (const Scalar &scalar : program.scalars)
    for (unsigned operand : scalar.operands)
      ++uses[operand];
  for (const Store &store : program.stores)
    ++uses[store.value];
}

ScalarEmitter ScalarEmitter::forOneElement(ArrayRef<unsigned> scalars) const {
  ScalarEmitter copy = *this;
  copy.vectors = {};
  for (unsigned id : scalars)
    copy.loaded.erase(id);
  return copy;
}

std::string ScalarEmitter::openLanes(StringRef indent) {
  if (vectors.width == 1)
    return indent.str();
  os << "#pragma unroll\n" << indent << "for (int lane = 0; lane < " << vectors.width << "; ++lane) {\n";
  return (indent + "  ").str();
}

void ScalarEmitter::closeLanes(StringRef indent) {
  if (vectors.width > 1)
    os << indent << "}\n";
}

std::string ScalarEmitter::element(unsigned operand, AffineExpr index) const {
  return kernel.getOperandName(operand) + "[" + indices.print(index).text + "]";
}

std::string ScalarEmitter::address(unsigned operand, AffineExpr index) const {
  return kernel.getOperandName(operand) + " + " + indices.print(index).in(Precedence::Additive);
}

SteppedAccess ScalarEmitter::getAccess(AffineExpr index) const {
  return SteppedAccess::get(index, vectors.dim, program.extents.size());
}

std::string ScalarEmitter::getVectorType(Type element, AffineExpr index) const {
  return ("Vector<" + ExpressionPrinter::getStorageType(element) + ", " + Twine(vectors.width * getAccess(index).step) +
          ">")
      .str();
}

std::string ScalarEmitter::getElementOfLane(StringRef variable, AffineExpr index) const {
  SteppedAccess access = getAccess(index);
  std::string lane = access.step == 1 ? "lane" : std::to_string(access.step) + " * lane";
  return (variable + "[" + lane + (access.place == 0 ? "" : " + " + std::to_string(access.place)) + "]").str();
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void ScalarEmitter::emitBoxes(ArrayRef<unsigned> scalars, StringRef indent) {
  SmallVector<bool> needed(program.boxes.size(), false);
  for (unsigned id : scalars)
    if (std::optional<unsigned> box = program.scalars[id].box)
      needed[*box] = !knownBoxes[*box];
  for (auto [number, box] : llvm::enumerate(program.boxes)) {
    if (!needed[number])
      continue;
    knownBoxes[number] = true;
    std::string conditions;
    auto require = [&](AffineExpr index, StringRef op, int64_t bound) {
      conditions += (conditions.empty() ? "" : " && ") + indices.print(index).in(Precedence::Additive) + " " +
                    op.str() + " " + std::to_string(bound);
    };
    for (const Box::Range &range : box.ranges) {
      if (range.begin > 0)
        require(range.index, ">=", range.begin);
      if (getLargestValue(range.index, program.extents) >= range.end)
        require(range.index, "<", range.end);
    }
    os << indent << "const bool " << getBoxVariable(number) << " = " << (conditions.empty() ? "true" : conditions)
       << ";\n";
  }
}

void ScalarEmitter::emitLoads(ArrayRef<unsigned> scalars, StringRef indent) {
  emitBoxes(scalars, indent);
  SmallVector<unsigned> loads;
  llvm::copy_if(scalars, std::back_inserter(loads),
                [&](unsigned id) { return program.scalars[id].kind == Scalar::Kind::Load && !loaded.contains(id); });
  llvm::stable_sort(
      loads, [&](unsigned lhs, unsigned rhs) { return program.scalars[lhs].operand < program.scalars[rhs].operand; });

  // The variables of vectors by operand, box and first element: interleaved loads share one.
  std::map<std::tuple<unsigned, std::optional<unsigned>, const void *>, std::string> known;
  for (unsigned id : loads) {
    const Scalar &scalar = program.scalars[id];
    AffineExpr base = isVector(scalar.index) ? getAccess(scalar.index).base : scalar.index;
    std::string &variable = known[{scalar.operand, scalar.box, base.getAsOpaquePointer()}];
    if (variable.empty()) {
      variable = takeLoadVariable(id);
      os << indent << "const " << getLoadType(id) << " " << variable << " = " << printLoad(id) << ";\n";
    }
    provide(id, variable);
    if (hasRoughQuotients && isSharedDivisor(id))
      emitDivisor(id, {variable}, indent);
  }
}

bool ScalarEmitter::isSharedDivisor(unsigned id) const {
  const Scalar &load = program.scalars[id];
  return load.kind == Scalar::Kind::Load && load.index.isSymbolicOrConstant() &&
         llvm::any_of(program.scalars, [&](const Scalar &quotient) {
           return quotient.type.isF32() && isa_and_present<arith::DivFOp>(quotient.op) &&
                  quotient.operands.back() == id;
         });
}

std::string ScalarEmitter::takeLoadVariable(unsigned load) {
  // x3 is in3's element, x3_1 another element of it.
  unsigned operand = program.scalars[load].operand;
  std::string variable =
      operand < kernel.numInputs ? "x" + std::to_string(operand) : "old" + std::to_string(operand - kernel.numInputs);
  if (unsigned times = timesLoaded[operand]++)
    variable += "_" + std::to_string(times);
  return variable;
}

std::string ScalarEmitter::getLoadType(unsigned load) const {
  const Scalar &scalar = program.scalars[load];
  return isVector(scalar.index) ? getVectorType(scalar.type, scalar.index)
                                : ExpressionPrinter::getStorageType(scalar.type).str();
}

std::string ScalarEmitter::printLoad(unsigned load) const {
  const Scalar &scalar = program.scalars[load];
  std::string value = element(scalar.operand, scalar.index), zero = ExpressionPrinter::printZero(scalar.type).text;
  if (isVector(scalar.index)) {
    SteppedAccess access = getAccess(scalar.index);
    value =
        "loadVector<" + std::to_string(vectors.width * access.step) + ">(" + address(scalar.operand, access.base) + ")";
    zero = getLoadType(load) + "{}";
  }
  return scalar.box ? getBoxVariable(*scalar.box) + " ? " + value + " : " + zero : value;
}

void ScalarEmitter::provide(unsigned load, StringRef variable) {
  AffineExpr index = program.scalars[load].index;
  loaded[load] = isVector(index) ? getElementOfLane(variable, index) : variable.str();
}

void ScalarEmitter::provideFrom(const ScalarEmitter &other, unsigned load) {
  provide(load, other.getLoaded(load));
  if (auto divisor = other.divisors.find(load); divisor != other.divisors.end())
    provideDivisor(load, divisor->second);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Expression ScalarEmitter::printScalar(const Scalar &scalar, unsigned id) {
  switch (scalar.kind) {
  case Scalar::Kind::Load:
    return ExpressionPrinter::printLoaded(scalar.type, {loaded[id]});
  case Scalar::Kind::Gather:
    return ExpressionPrinter::printLoaded(scalar.type, printGather(scalar));
  case Scalar::Kind::Table: {
    Expression value{getTableName(kernel, program, scalar.table) + "[" + printIndex(scalar.index).text + "]"};
    if (!scalar.box)
      return value;
    Expression zero = ExpressionPrinter::print(Builder(scalar.type.getContext()).getZeroAttr(scalar.type));
    return ExpressionPrinter::printChoice({getBoxVariable(*scalar.box)}, value, zero);
  }
  case Scalar::Kind::Constant:
    return ExpressionPrinter::print(scalar.constant);
  case Scalar::Kind::Choice:
    return ExpressionPrinter::printChoice({getBoxVariable(*scalar.box)}, expressions[scalar.operands[0]],
                                          expressions[scalar.operands[1]]);
  case Scalar::Kind::Reduced:
    llvm_unreachable("reductions are written by the schedule");
  case Scalar::Kind::Index:
  case Scalar::Kind::Operation:
    if (AffineExpr index = program.getConvertedIndex(id))
      return Expression::staticCast(ExpressionPrinter::getComputeType(scalar.type), printIndex(index));
    if (auto test = program.getIndexTest(id))
      return printIndexTest(test->first, expressions[test->second]);
    SmallVector<Expression, 3> operands;
    for (unsigned operand : scalar.operands)
      operands.push_back(expressions[operand]);
    bool isRough = hasRoughQuotients && scalar.type.isF32();
    if (isa<arith::DivFOp>(scalar.op)) {
      if (auto divisor = divisors.find(scalar.operands.back()); divisor != divisors.end())
        operands.back() = {divisor->second};
      else if (isRough)
        return Expression::call("approximateQuotient", operands.front(), operands.back());
    }
    if (isRough && isa<math::SqrtOp>(scalar.op))
      return Expression::call("approximateRoot", operands.front());
    if (roughExponentials[id])
      return Expression::call("approximateExp", operands.front());
    return ExpressionPrinter::print(scalar.op, operands);
  }
  llvm_unreachable("all kinds are handled");
}

Expression ScalarEmitter::printIndex(AffineExpr index) {
  Expression first = indices.print(index);
  if (!isVector(index))
    return first;
  int64_t step = getLinearForm(index, program.extents.size())->coefficients[vectors.dim];
  Expression lane{"lane"};
  if (step != 1)
    lane = Expression::infix(lane, "*", {std::to_string(step)}, Precedence::Multiplicative);
  return Expression::infix(first, "+", lane, Precedence::Additive);
}

Expression ScalarEmitter::printIndexTest(AffineExpr index, const Expression &number) {
  Expression place = Expression::call("asIndex", number), first = indices.print(index);
  if (!isVector(index) || getLinearForm(index, program.extents.size())->coefficients[vectors.dim] != 1)
    return Expression::infix(printIndex(index), "==", place, Precedence::Equality);
  // One subtraction for all lanes.
  return Expression::infix({"lane"}, "==", Expression::infix(place, "-", first, Precedence::Additive),
                           Precedence::Equality);
}

Expression ScalarEmitter::printGather(const Scalar &scalar) {
  SmallVector<int64_t> strides;
  int64_t offset;
  [[maybe_unused]] LogicalResult known = kernel.operands[scalar.operand].getStridesAndOffset(strides, offset);
  assert(succeeded(known) && "the reader refuses unknown strides");
  Expression index{std::to_string(offset)};
  bool isFirst = offset == 0;
  for (auto [operand, stride] : llvm::zip_equal(scalar.operands, strides)) {
    Expression term = expressions[operand];
    if (stride != 1)
      term = Expression::infix(term, "*", {std::to_string(stride)}, Precedence::Multiplicative);
    index = isFirst ? term : Expression::infix(index, "+", term, Precedence::Additive);
    isFirst = false;
  }
  Expression element{kernel.getOperandName(scalar.operand) + "[" + index.text + "]"};
  if (!scalar.box)
    return element;
  return ExpressionPrinter::printChoice({getBoxVariable(*scalar.box)}, element,
                                        ExpressionPrinter::printZero(scalar.type));
}

bool ScalarEmitter::isRoundedByStore(unsigned id) const {
  auto rounding = dyn_cast_if_present<arith::TruncFOp>(program.scalars[id].op);
  return rounding && rounding.getIn().getType().isF32() && uses[id] == 1 &&
         llvm::any_of(program.stores, [&](const Store &store) { return store.value == id; });
}

Expression ScalarEmitter::printStored(const Store &store) {
  const Scalar &scalar = program.scalars[store.value];
  const Expression &value = expressions[isRoundedByStore(store.value) ? scalar.operands.front() : store.value];
  return ExpressionPrinter::printStored(scalar.type, value);
}

/// Returns whether the expression is a variable, an element of one, or a number.
static bool isWord(const Expression &expression) {
  return expression.precedence == Precedence::Primary && StringRef(expression.text).find('(') == StringRef::npos;
}

void ScalarEmitter::emitOperations(ArrayRef<unsigned> scalars, StringRef indent, ReducedEmitter emitReduced) {
  // An expression with one use is written at its use, unless that line becomes hard to read.
  constexpr size_t longestOperand = 72, longestStored = 104;
  for (unsigned id : scalars) {
    const Scalar &scalar = program.scalars[id];
    if (isRoundedByStore(id))
      continue;
    expressions[id] = scalar.kind == Scalar::Kind::Reduced ? emitReduced(id, indent) : printScalar(scalar, id);
    Expression &expression = expressions[id];
    bool atOnce = scalar.kind == Scalar::Kind::Constant || isWord(expression) || uses[id] <= 1;
    bool isStored = llvm::any_of(program.stores, [&](const Store &store) { return store.value == id; });
    bool isShort = expression.text.size() <= (isStored ? longestStored : longestOperand);
    // A gather is a load, and loads come before stores.
    if (scalar.kind != Scalar::Kind::Gather && atOnce && isShort)
      continue;
    emitVariable(id, indent);
  }
}

void ScalarEmitter::emitDivisor(unsigned id, const Expression &value, StringRef indent) {
  std::string &divisor = divisors[id] = "divisor" + std::to_string(takeNumber());
  os << indent << "const Divisor " << divisor << "(" << value.text << ");\n";
}

std::string ScalarEmitter::takeVariable(unsigned id) {
  return getNoun(program.scalars[id]).str() + std::to_string(numVariables++);
}

void ScalarEmitter::emitVariable(unsigned id, StringRef indent) {
  const Scalar &scalar = program.scalars[id];
  Expression &expression = expressions[id];
  // The element that a gather reads has a name too, in the type of the memory.
  bool isRead = scalar.kind == Scalar::Kind::Gather && StringRef(expression.text).contains('[');
  if (scalar.kind == Scalar::Kind::Constant || (isWord(expression) && !isRead))
    return;
  std::string variable = takeVariable(id);
  os << indent << "const " << ExpressionPrinter::getComputeType(scalar.type) << " " << variable << " = "
     << expression.text << ";\n";
  expression = {variable};
}

void ScalarEmitter::emitInto(unsigned id, std::string variable, StringRef indent) {
  os << indent << variable << " = " << printScalar(program.scalars[id], id).text << ";\n";
  define(id, {std::move(variable)});
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

unsigned ScalarEmitter::getFirstOfVector(unsigned number) const {
  const Store &store = program.stores[number];
  AffineExpr base = getAccess(store.index).base;
  unsigned first = 0;
  while (program.stores[first].operand != store.operand || !isVector(program.stores[first].index) ||
         getAccess(program.stores[first].index).base != base)
    ++first;
  return first;
}

void ScalarEmitter::declareStored(ArrayRef<unsigned> stores, StringRef indent) {
  for (unsigned number : stores) {
    const Store &store = program.stores[number];
    if (isVector(store.index) && getFirstOfVector(number) == number)
      os << indent << getVectorType(kernel.operands[store.operand].getElementType(), store.index) << " y" << number
         << ";\n";
  }
}

void ScalarEmitter::assignStored(ArrayRef<unsigned> stores, StringRef indent) {
  for (unsigned number : stores)
    if (const Store &store = program.stores[number]; isVector(store.index))
      os << indent << getElementOfLane("y" + std::to_string(getFirstOfVector(number)), store.index) << " = "
         << printStored(store).text << ";\n";
}

void ScalarEmitter::emitStores(ArrayRef<unsigned> stores, StringRef indent) {
  for (unsigned number : stores) {
    const Store &store = program.stores[number];
    if (!isVector(store.index))
      os << indent << element(store.operand, store.index) << " = " << printStored(store).text << ";\n";
    else if (getFirstOfVector(number) == number)
      os << indent << "storeVector(" << address(store.operand, getAccess(store.index).base) << ", y" << number
         << ");\n";
  }
}

void ScalarEmitter::emitToStores(ArrayRef<unsigned> scalars, StringRef indent, ReducedEmitter emitReduced) {
  SmallVector<unsigned> stores = llvm::to_vector(llvm::seq<unsigned>(0, program.stores.size()));
  emitLoads(scalars, indent);
  declareStored(stores, indent);
  std::string body = openLanes(indent);
  emitOperations(scalars, body, emitReduced);
  assignStored(stores, body);
  closeLanes(indent);
  emitStores(stores, indent);
}
