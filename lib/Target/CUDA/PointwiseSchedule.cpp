//===- PointwiseSchedule.cpp - A few neighbouring elements a thread -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every thread computes the same one point, or one vector of neighbouring points, of the iteration space, and no thread
// reads what another writes. A thread loads everything before it stores anything and no pointer is `__restrict__`: an
// output may be the buffer of an input that is read at the same point (a parameter updated in place).
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "IndexPrinter.h"
#include "IterationSpace.h"
#include "PointwiseProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace cs336::cuda;

namespace {

constexpr int64_t threadsPerBlock = 256;

class PointwiseKernel : public ScheduledKernel {
public:
  PointwiseKernel(const DeviceKernel &kernel, PointwiseProgram program)
      : kernel(kernel), program(std::move(program)), width(chooseVectorWidth(this->program, kernel)),
        indices(needs64BitIndices(this->program)) {}

  SmallVector<KernelFunction> getFunctions() const override {
    return {{kernel.name, llvm::divideCeilSigned(program.getNumPoints() / width, threadsPerBlock), threadsPerBlock}};
  }
  void collectDeviceSources(DeviceSources &sources) const override;
  std::string describe() const override;
  void emit(raw_ostream &os) const override;

private:
  /// Writes one kernel; what it has named so far.
  class Emitter;

  const DeviceKernel kernel;
  const PointwiseProgram program;
  const int64_t width;
  const IndexPrinter indices;
};

/// A word for a variable that holds the scalar.
StringRef getNoun(const Scalar &scalar) {
  switch (scalar.kind) {
  case Scalar::Kind::Operation:
    return ExpressionPrinter::getNoun(scalar.op);
  case Scalar::Kind::Index:
    return "index";
  case Scalar::Kind::Gather:
    return "gathered";
  case Scalar::Kind::Choice:
    return "chosen";
  case Scalar::Kind::Load:
  case Scalar::Kind::Constant:
    return "value";
  }
  llvm_unreachable("all kinds are handled");
}

class PointwiseKernel::Emitter {
public:
  Emitter(const PointwiseKernel &kernel, raw_ostream &os)
      : self(kernel), os(os), expressions(kernel.program.scalars.size()), uses(kernel.program.scalars.size(), 0) {
    for (const Scalar &scalar : self.program.scalars)
      for (unsigned operand : scalar.operands)
        ++uses[operand];
    for (const Store &store : self.program.stores)
      ++uses[store.value];
  }
  void emit();

private:
  bool isVector(AffineExpr index) const {
    return self.width > 1 && index.isFunctionOfDim(self.program.extents.size() - 1);
  }
  void emitSignature();
  void emitBoxes();
  void emitLoads();
  void emitBody(StringRef indent);
  void emitStores();
  Expression printScalar(const Scalar &scalar, unsigned id);
  static std::string getBoxVariable(unsigned box) { return "inside" + std::to_string(box); }
  /// The index that the scalar is a conversion of, or null. It is converted at once from the unsigned variables.
  AffineExpr getConvertedIndex(const Scalar &scalar) const;
  /// The index in the lane at hand.
  Expression printIndex(AffineExpr index);
  Expression printGather(const Scalar &scalar);
  /// The element to write.
  Expression printStored(const Store &store);
  /// Whether the scalar is a float rounded for nothing but a store, which rounds anyway.
  bool isRoundedByStore(unsigned id) const;
  std::string element(unsigned operand, AffineExpr index) {
    return self.kernel.getOperandName(operand) + "[" + self.indices.print(index).text + "]";
  }
  std::string address(unsigned operand, AffineExpr index) {
    return self.kernel.getOperandName(operand) + " + " + self.indices.print(index).in(Precedence::Additive);
  }

  const PointwiseKernel &self;
  raw_ostream &os;
  /// How each scalar is referred to by those that come after it.
  SmallVector<Expression> expressions;
  /// How often each scalar is an operand or is stored.
  SmallVector<unsigned> uses;
  /// The variable that a load fills, by scalar.
  std::map<unsigned, std::string> loaded;
};

class PointwiseSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "pointwise"; }

  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    FailureOr<PointwiseProgram> program = PointwiseProgram::read(kernel, whyNot);
    if (failed(program))
      return nullptr;
    mergeDimensions(*program);
    auto scheduled = std::make_unique<PointwiseKernel>(kernel, std::move(*program));
    if (scheduled->getFunctions().front().blocks > std::numeric_limits<int32_t>::max()) {
      whyNot = "needs more blocks than a grid has";
      return nullptr;
    }
    return scheduled;
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createPointwiseSchedule() { return std::make_unique<PointwiseSchedule>(); }

//===----------------------------------------------------------------------===//
// What the kernel needs and does
//===----------------------------------------------------------------------===//

void PointwiseKernel::collectDeviceSources(DeviceSources &sources) const {
  if (width > 1)
    sources.insert("vector.cuh");
  auto insertFor = [&](Type type) {
    if (StringRef source = ExpressionPrinter::getDeviceSource(type); !source.empty())
      sources.insert(source);
  };
  for (MemRefType operand : kernel.operands)
    insertFor(operand.getElementType());
  for (const Scalar &scalar : program.scalars) {
    insertFor(scalar.type);
    if ((scalar.op && ExpressionPrinter::usesScalarFunctions(scalar.op)) ||
        (scalar.constant && ExpressionPrinter::usesScalarFunctions(scalar.constant)))
      sources.insert("scalar.cuh");
  }
}

std::string PointwiseKernel::describe() const {
  std::string text = width == 1 ? "one element a thread" : std::to_string(width) + " neighbouring elements a thread";
  text += ", of " + std::to_string(program.getNumPoints());
  if (program.extents.size() > 1) {
    text += " =";
    for (auto [dim, extent] : llvm::enumerate(program.extents))
      text += (dim == 0 ? " " : " x ") + std::to_string(extent);
    text += " (i0, i1, …)";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void PointwiseKernel::emit(raw_ostream &os) const { Emitter(*this, os).emit(); }

void PointwiseKernel::Emitter::emit() {
  emitSignature();
  self.indices.emitPoint(os, self.program.extents, self.width, threadsPerBlock);
  emitBoxes();
  emitLoads();
  if (self.width == 1) {
    emitBody("  ");
  } else {
    for (auto [i, store] : llvm::enumerate(self.program.stores))
      os << "  Vector<" << ExpressionPrinter::getStorageType(self.kernel.operands[store.operand].getElementType())
         << ", " << self.width << "> y" << i << ";\n";
    os << "#pragma unroll\n  for (int lane = 0; lane < " << self.width << "; ++lane) {\n";
    emitBody("    ");
    os << "  }\n";
  }
  emitStores();
  os << "}\n";
}

void PointwiseKernel::Emitter::emitSignature() {
  constexpr size_t lineWidth = 120;
  std::string line = self.kernel.name + "(";
  const std::string indent(line.size(), ' ');
  os << "extern \"C\" __global__ void __launch_bounds__(" << threadsPerBlock << ")\n";
  for (auto [i, type] : llvm::enumerate(self.kernel.operands)) {
    std::string parameter = (i < self.kernel.numInputs ? "const " : "") +
                            ExpressionPrinter::getStorageType(type.getElementType()).str() + " *" +
                            self.kernel.getOperandName(i) + (i + 1 < self.kernel.operands.size() ? "," : ") {");
    if (line.size() + parameter.size() >= lineWidth) {
      os << line << "\n";
      line = indent;
    } else if (i != 0) {
      line += " ";
    }
    line += parameter;
  }
  os << line << "\n";
}

void PointwiseKernel::Emitter::emitBoxes() {
  for (auto [number, box] : llvm::enumerate(self.program.boxes)) {
    std::string conditions;
    auto require = [&](AffineExpr index, StringRef op, int64_t bound) {
      conditions += (conditions.empty() ? "" : " && ") + self.indices.print(index).in(Precedence::Additive) + " " +
                    op.str() + " " + std::to_string(bound);
    };
    for (const Box::Range &range : box.ranges) {
      if (range.begin > 0)
        require(range.index, ">=", range.begin);
      if (getLargestValue(range.index, self.program.extents) >= range.end)
        require(range.index, "<", range.end);
    }
    os << "  const bool " << getBoxVariable(number) << " = " << (conditions.empty() ? "true" : conditions) << ";\n";
  }
}

void PointwiseKernel::Emitter::emitLoads() {
  SmallVector<unsigned> loads;
  for (auto [id, scalar] : llvm::enumerate(self.program.scalars))
    if (scalar.kind == Scalar::Kind::Load)
      loads.push_back(id);
  llvm::stable_sort(loads, [&](unsigned lhs, unsigned rhs) {
    return self.program.scalars[lhs].operand < self.program.scalars[rhs].operand;
  });

  SmallVector<unsigned> timesLoaded(self.kernel.operands.size(), 0);
  for (unsigned id : loads) {
    const Scalar &scalar = self.program.scalars[id];
    // x3 is in3's element, x3_1 another element of it.
    std::string variable = scalar.operand < self.kernel.numInputs
                               ? "x" + std::to_string(scalar.operand)
                               : "old" + std::to_string(scalar.operand - self.kernel.numInputs);
    if (unsigned times = timesLoaded[scalar.operand]++)
      variable += "_" + std::to_string(times);
    std::string type = ExpressionPrinter::getStorageType(scalar.type).str(),
                zero = ExpressionPrinter::printZero(scalar.type).text;
    std::string value = element(scalar.operand, scalar.index);
    loaded[id] = variable;
    if (isVector(scalar.index)) {
      type = "Vector<" + type + ", " + std::to_string(self.width) + ">";
      zero = type + "{}";
      value = "loadVector<" + std::to_string(self.width) + ">(" + address(scalar.operand, scalar.index) + ")";
      loaded[id] += "[lane]";
    }
    os << "  const " << type << " " << variable << " = ";
    if (scalar.box)
      os << getBoxVariable(*scalar.box) << " ? " << value << " : " << zero << ";\n";
    else
      os << value << ";\n";
  }
}

Expression PointwiseKernel::Emitter::printScalar(const Scalar &scalar, unsigned id) {
  switch (scalar.kind) {
  case Scalar::Kind::Load:
    return ExpressionPrinter::printLoaded(scalar.type, {loaded[id]});
  case Scalar::Kind::Gather:
    return ExpressionPrinter::printLoaded(scalar.type, printGather(scalar));
  case Scalar::Kind::Constant:
    return ExpressionPrinter::print(scalar.constant);
  case Scalar::Kind::Choice:
    return ExpressionPrinter::printChoice({getBoxVariable(*scalar.box)}, expressions[scalar.operands[0]],
                                          expressions[scalar.operands[1]]);
  case Scalar::Kind::Index:
  case Scalar::Kind::Operation:
    if (AffineExpr index = getConvertedIndex(scalar))
      return Expression::staticCast(ExpressionPrinter::getComputeType(scalar.type), printIndex(index));
    SmallVector<Expression, 3> operands;
    for (unsigned operand : scalar.operands)
      operands.push_back(expressions[operand]);
    return ExpressionPrinter::print(scalar.op, operands);
  }
  llvm_unreachable("all kinds are handled");
}

AffineExpr PointwiseKernel::Emitter::getConvertedIndex(const Scalar &scalar) const {
  if (scalar.kind == Scalar::Kind::Index)
    return scalar.index;
  if (!isa_and_present<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp>(scalar.op) ||
      scalar.type.isInteger(1))
    return {};
  return getConvertedIndex(self.program.scalars[scalar.operands.front()]);
}

Expression PointwiseKernel::Emitter::printIndex(AffineExpr index) {
  Expression first = self.indices.print(index);
  if (!isVector(index))
    return first;
  int64_t step = getLinearForm(index, self.program.extents.size())->coefficients.back();
  Expression lane{"lane"};
  if (step != 1)
    lane = Expression::infix(lane, "*", {std::to_string(step)}, Precedence::Multiplicative);
  return Expression::infix(first, "+", lane, Precedence::Additive);
}

Expression PointwiseKernel::Emitter::printGather(const Scalar &scalar) {
  SmallVector<int64_t> strides;
  int64_t offset;
  [[maybe_unused]] LogicalResult known = self.kernel.operands[scalar.operand].getStridesAndOffset(strides, offset);
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
  return {self.kernel.getOperandName(scalar.operand) + "[" + index.text + "]"};
}

bool PointwiseKernel::Emitter::isRoundedByStore(unsigned id) const {
  auto rounding = dyn_cast_if_present<arith::TruncFOp>(self.program.scalars[id].op);
  return rounding && rounding.getIn().getType().isF32() && uses[id] == 1 &&
         llvm::any_of(self.program.stores, [&](const Store &store) { return store.value == id; });
}

Expression PointwiseKernel::Emitter::printStored(const Store &store) {
  const Scalar &scalar = self.program.scalars[store.value];
  const Expression &value = expressions[isRoundedByStore(store.value) ? scalar.operands.front() : store.value];
  return ExpressionPrinter::printStored(scalar.type, value);
}

void PointwiseKernel::Emitter::emitBody(StringRef indent) {
  // An expression of one use stands where it is used, unless it makes that line hard to read.
  constexpr size_t longestOperand = 72, longestStored = 104;
  unsigned numVariables = 0;
  for (auto [id, scalar] : llvm::enumerate(self.program.scalars)) {
    if (isRoundedByStore(id))
      continue;
    Expression &expression = expressions[id] = printScalar(scalar, id);
    bool isWord =
        expression.precedence == Precedence::Primary && StringRef(expression.text).find('(') == StringRef::npos;
    bool atOnce = scalar.kind == Scalar::Kind::Constant || isWord || uses[id] <= 1;
    bool isStored = llvm::any_of(self.program.stores, [&](const Store &store) { return store.value == id; });
    bool isShort = expression.text.size() <= (isStored ? longestStored : longestOperand);
    // A gather is a load, and loads come before stores.
    if (scalar.kind != Scalar::Kind::Gather && atOnce && isShort)
      continue;
    std::string variable = getNoun(scalar).str() + std::to_string(numVariables++);
    os << indent << "const " << ExpressionPrinter::getComputeType(scalar.type) << " " << variable << " = "
       << expression.text << ";\n";
    expression = {variable};
  }
  if (self.width == 1)
    return;
  for (auto [i, store] : llvm::enumerate(self.program.stores))
    os << indent << "y" << i << "[lane] = " << printStored(store).text << ";\n";
}

void PointwiseKernel::Emitter::emitStores() {
  for (auto [i, store] : llvm::enumerate(self.program.stores)) {
    if (self.width > 1)
      os << "  storeVector(" << address(store.operand, store.index) << ", y" << i << ");\n";
    else
      os << "  " << element(store.operand, store.index) << " = " << printStored(store).text << ";\n";
  }
}
