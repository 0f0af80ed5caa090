//===- ScatterSchedule.cpp - Rows added to a table at computed places -----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts loops over positions, then columns, that add an element of a gradient to a row of a table. An integer per
// position selects the row. A first function fills the table. In the second, a warp handles a slice of the columns at
// one position. It searches all positions of the same row, 32 at a time, and stops if it finds one before its own. So
// the warp at the first position of a row sums all of them, in order, and is the only one that writes the row. There
// are no atomic additions, and every run gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "IterationSpace.h"
#include "ScalarEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace cs336::cuda;

namespace {

constexpr int64_t threadsPerBlock = 256, threadsPerWarp = 32, warpsPerBlock = threadsPerBlock / threadsPerWarp;
/// Gradients that a thread loads before it adds the first of them.
constexpr int64_t loadsAtOnce = 4;

/// The computation of the loops: at every position, table[ids[position], column] += gradient[position, column].
struct Scatter {
  unsigned ids, gradient;
  /// The initial values of the table.
  TypedAttr initial;
  SmallVector<int64_t> positions;
  int64_t columns;
  /// Adds the second operand to the first, in the type of the table or a wider one.
  arith::AddFOp add;
  /// Rounds the sum to an element of the table, or null.
  Operation *rounding = nullptr;

  static std::optional<Scatter> match(func::FuncOp function);
};

class ScatterKernel : public ScheduledKernel {
public:
  ScatterKernel(const DeviceKernel &kernel, const Scatter &scatter, KernelProgram program)
      : kernel(kernel), scatter(scatter), program(std::move(program)), columns(chooseColumns()),
        indices(needs64BitIndices(this->program) ||
                kernel.operands.back().getNumElements() > std::numeric_limits<int32_t>::max()) {}

  SmallVector<KernelFunction> getFunctions() const override;
  void collectDeviceSources(DeviceSources &sources) const override;
  std::string describe() const override;
  void emit(raw_ostream &os) const override;

private:
  const LoopNest &getPositions() const { return program.getPoint(); }
  VectorAxis chooseColumns() const {
    // The loop over columns is one dimension, unless there is only one column.
    const LoopNest &nest = program.nests.back();
    return nest.getNumDims() == 0 ? VectorAxis()
                                  : VectorAxis{nest.begin, chooseVectorWidth(program, kernel, nest.begin)};
  }
  int64_t getNumSlices() const { return llvm::divideCeilSigned(scatter.columns, threadsPerWarp * columns.width); }
  Type getTableType() const { return kernel.operands.back().getElementType(); }
  /// Returns "Vector<float, 4>", or the element's type if there are no vectors.
  std::string getVectorType(StringRef element) const;
  void emitFill(raw_ostream &os) const;
  void emitSums(raw_ostream &os) const;
  void emitAddition(raw_ostream &os, StringRef indent) const;

  const DeviceKernel kernel;
  const Scatter scatter;
  /// The addresses: ids and gradient as loads, the table's columns as a store.
  const KernelProgram program;
  const VectorAxis columns;
  const IndexPrinter indices;
};

class ScatterSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "scatter"; }
  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override;
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createScatterSchedule() { return std::make_unique<ScatterSchedule>(); }

//===----------------------------------------------------------------------===//
// Recognition of the loops
//===----------------------------------------------------------------------===//

/// Returns the number of iterations of a loop from 0 in steps of 1 that carries one value.
static std::optional<int64_t> getTripCount(scf::ForOp loop) {
  APInt begin, end, step;
  bool isKnown = matchPattern(loop.getLowerBound(), m_ConstantInt(&begin)) &&
                 matchPattern(loop.getUpperBound(), m_ConstantInt(&end)) &&
                 matchPattern(loop.getStep(), m_ConstantInt(&step));
  if (!isKnown || !begin.isZero() || !step.isOne() || loop.getNumRegionIterArgs() != 1)
    return std::nullopt;
  return end.getSExtValue();
}

static Value skipWidening(Value value) {
  auto widening = value.getDefiningOp<arith::ExtFOp>();
  return widening ? widening.getIn() : value;
}

/// Returns the operand of the kernel from which an element is read at `indices`.
static std::optional<unsigned> matchExtract(Value element, ValueRange indices) {
  auto extract = element.getDefiningOp<tensor::ExtractOp>();
  auto operand = extract ? dyn_cast<BlockArgument>(extract.getTensor()) : BlockArgument();
  if (!operand || !isa<func::FuncOp>(operand.getOwner()->getParentOp()) || !llvm::equal(extract.getIndices(), indices))
    return std::nullopt;
  return operand.getArgNumber();
}

std::optional<Scatter> Scatter::match(func::FuncOp function) {
  Operation *end = function.getBody().front().getTerminator();
  auto outermost = end->getNumOperands() == 1 ? end->getOperand(0).getDefiningOp<scf::ForOp>() : scf::ForOp();
  if (!outermost)
    return std::nullopt;
  Scatter scatter;
  auto fill = outermost.getInitArgs().front().getDefiningOp<linalg::GenericOp>();
  Attribute initial;
  if (!fill || fill.getNumDpsInputs() != 0 ||
      !matchPattern(fill.getBody()->getTerminator()->getOperand(0), m_Constant(&initial)))
    return std::nullopt;
  scatter.initial = cast<TypedAttr>(initial);

  SmallVector<Value> position;
  scf::ForOp loop = outermost;
  while (true) {
    std::optional<int64_t> count = getTripCount(loop);
    if (!count)
      return std::nullopt;
    auto inner = loop.getBody()->getTerminator()->getOperand(0).getDefiningOp<scf::ForOp>();
    if (!inner) {
      scatter.columns = *count;
      break;
    }
    if (inner.getInitArgs().front() != loop.getRegionIterArg(0))
      return std::nullopt;
    scatter.positions.push_back(*count);
    position.push_back(loop.getInductionVar());
    loop = inner;
  }

  Value column = loop.getInductionVar();
  auto insert = loop.getBody()->getTerminator()->getOperand(0).getDefiningOp<tensor::InsertOp>();
  if (!insert || insert.getDest() != loop.getRegionIterArg(0) || insert.getIndices().size() != 2 ||
      insert.getIndices()[1] != column)
    return std::nullopt;
  auto row = insert.getIndices()[0].getDefiningOp<arith::IndexCastOp>();
  if (!row)
    return std::nullopt;
  std::optional<unsigned> ids = matchExtract(row.getIn(), position);
  if (!ids && scatter.positions == ArrayRef<int64_t>(1)) {
    // One position has no index.
    position.clear();
    ids = matchExtract(row.getIn(), position);
  }

  Value sum = insert.getScalar();
  if (auto rounding = sum.getDefiningOp<arith::TruncFOp>()) {
    scatter.rounding = rounding;
    sum = rounding.getIn();
  }
  scatter.add = sum.getDefiningOp<arith::AddFOp>();
  if (!ids || !scatter.add)
    return std::nullopt;
  auto old = skipWidening(scatter.add.getLhs()).getDefiningOp<tensor::ExtractOp>();
  position.push_back(column);
  std::optional<unsigned> gradient = matchExtract(skipWidening(scatter.add.getRhs()), position);
  if (!old || old.getTensor() != insert.getDest() || !llvm::equal(old.getIndices(), insert.getIndices()) || !gradient)
    return std::nullopt;
  scatter.ids = *ids;
  scatter.gradient = *gradient;
  return scatter;
}

std::unique_ptr<ScheduledKernel> ScatterSchedule::schedule(const DeviceKernel &kernel, std::string &whyNot) const {
  std::optional<Scatter> scatter = Scatter::match(kernel.function);
  if (!scatter) {
    whyNot = "adds no rows to a table";
    return nullptr;
  }
  MLIRContext *context = scatter->add.getContext();
  KernelProgram program;
  program.extents = scatter->positions;
  program.extents.push_back(scatter->columns);
  unsigned column = program.extents.size() - 1;
  program.nests = {{0, column}, {column, column + 1}};
  // `end` is one past the dimension of the operand's last axis: a single position has a dimension, but no axis.
  auto addLoad = [&](unsigned operand, unsigned end) {
    MemRefType type = kernel.operands[operand];
    auto [strides, offset] = type.getStridesAndOffset();
    AffineExpr index = getAffineConstantExpr(offset, context);
    for (auto [dim, stride] : llvm::enumerate(strides))
      index = index + getAffineDimExpr(end - strides.size() + dim, context) * stride;
    program.scalars.push_back({.kind = Scalar::Kind::Load,
                               .type = type.getElementType(),
                               .operand = operand,
                               .index = simplifyAffineExpr(index, program.extents.size(), 0)});
  };
  addLoad(scatter->ids, column);
  addLoad(scatter->gradient, column + 1);
  program.stores.push_back({kernel.numInputs, getAffineDimExpr(column, context), 1});
  mergeDimensions(program);
  return requireGrid(std::make_unique<ScatterKernel>(kernel, *scatter, std::move(program)), whyNot);
}

//===----------------------------------------------------------------------===//
// Requirements of the kernel
//===----------------------------------------------------------------------===//

SmallVector<KernelFunction> ScatterKernel::getFunctions() const {
  int64_t vectors = kernel.operands.back().getNumElements() / columns.width;
  int64_t warps = program.getNumPoints() * getNumSlices();
  return {{kernel.name + "_fill", llvm::divideCeilSigned(vectors, threadsPerBlock), threadsPerBlock},
          {kernel.name, llvm::divideCeilSigned(warps, warpsPerBlock), threadsPerBlock}};
}

void ScatterKernel::collectDeviceSources(DeviceSources &sources) const {
  if (columns.width > 1)
    sources.insert("vector.cuh");
  program.collectDeviceSources(kernel, sources);
}

std::string ScatterKernel::describe() const {
  return "a warp for " + std::to_string(threadsPerWarp * columns.width) + " columns at each of " +
         std::to_string(program.getNumPoints()) + " positions, of which the first of a row adds up all";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string ScatterKernel::getVectorType(StringRef element) const {
  return columns.width == 1 ? element.str() : ("Vector<" + element + ", " + Twine(columns.width) + ">").str();
}

void ScatterKernel::emit(raw_ostream &os) const {
  emitSignature(os, kernel, kernel.name + "_fill", threadsPerBlock);
  emitFill(os);
  os << "}\n\n";
  emitSignature(os, kernel, kernel.name, threadsPerBlock);
  emitSums(os);
  os << "}\n";
}

void ScatterKernel::emitFill(raw_ostream &os) const {
  std::string element = ExpressionPrinter::getStorageType(getTableType()).str();
  std::string value = ExpressionPrinter::printStored(getTableType(), ExpressionPrinter::print(scatter.initial)).text;
  int64_t numElements = kernel.operands.back().getNumElements();
  indices.emitThreadPoint(os, numElements, columns.width, threadsPerBlock);
  if (columns.width == 1) {
    os << "  out0[i0] = " << value << ";\n";
    return;
  }
  os << "  " << getVectorType(element) << " y0;\n#pragma unroll\n  for (int lane = 0; lane < " << columns.width
     << "; ++lane)\n    y0[lane] = " << value << ";\n  storeVector(out0 + i0, y0);\n";
}

void ScatterKernel::emitSums(raw_ostream &os) const {
  std::string type = indices.getType().str();
  ArrayRef<int64_t> positions = program.getExtents(getPositions());
  int64_t numPositions = program.getNumPoints(), numSlices = getNumSlices();
  std::string width = std::to_string(columns.width);
  std::string id = kernel.getOperandName(scatter.ids) + "[" + indices.print(program.scalars[0].index).text + "]";
  std::string gradient = kernel.getOperandName(scatter.gradient);
  Expression gradientIndex = indices.print(program.scalars[1].index);
  std::string storage = ExpressionPrinter::getStorageType(program.scalars[1].type).str();
  std::string accumulator = getVectorType(ExpressionPrinter::getComputeType(getTableType()));

  os << "  const " << type << " warp = " << indices.getBlock() << " * " << warpsPerBlock << " + threadIdx.x / 32;\n"
     << "  if (warp >= " << numPositions * numSlices << ")\n    return;\n"
     << "  const " << type << " position = warp / " << numSlices << ";\n"
     << "  const " << type << " column = (warp % " << numSlices << " * 32 + threadIdx.x % 32) * " << width << ";\n"
     << "  const bool inside = column < " << scatter.columns << ";\n";
  // Returns the row of a position, in the scope of that position's variables.
  auto emitRow = [&](StringRef indent, StringRef variable, StringRef at) {
    indices.emitPoint(os, indent, 0, positions, at, 1);
    os << indent << variable << " = " << id << ";\n";
  };
  os << "  long long row;\n  {\n";
  emitRow("    ", "row", "position");
  os << "  }\n";

  std::string initial = ExpressionPrinter::print(scatter.initial).text;
  os << "  " << accumulator << " sum = ";
  if (columns.width == 1)
    os << initial << ";\n";
  else {
    os << "{";
    llvm::interleave(SmallVector<std::string>(columns.width, initial), os, ", ");
    os << "};\n";
  }
  os << "  for (" << type << " begin = 0; begin < " << numPositions << "; begin += 32) {\n"
     << "    const " << type << " candidate = begin + threadIdx.x % 32;\n    bool isSame = false;\n"
     << "    if (candidate < " << numPositions << ") {\n";
  indices.emitPoint(os, "      ", 0, positions, "candidate", 1);
  os << "      isSame = " << id << " == row;\n    }\n"
     << "    unsigned same = __ballot_sync(0xffffffffu, isSame);\n"
     << "    if (same != 0 && begin + __ffs(same) - 1 < position)\n      return;\n"
     << "    while (same != 0) {\n"
     << "      " << getVectorType(storage) << " x[" << loadsAtOnce << "];\n      bool isThere[" << loadsAtOnce << "];\n"
     << "#pragma unroll\n      for (int load = 0; load < " << loadsAtOnce << "; ++load) {\n"
     << "        isThere[load] = inside && same != 0;\n"
     << "        const " << type << " found = begin + __ffs(same) - 1;\n        same &= same - 1;\n"
     << "        if (isThere[load]) {\n";
  indices.emitPoint(os, "          ", 0, positions, "found", 1);
  if (program.nests.back().getNumDims() != 0)
    os << "          const " << type << " " << IndexPrinter::getVariable(program.nests.back().begin) << " = column;\n";
  if (columns.width == 1)
    os << "          x[load] = " << gradient << "[" << gradientIndex.text << "];\n";
  else
    os << "          x[load] = loadVector<" << width << ">(" << gradient << " + "
       << gradientIndex.in(Precedence::Additive) << ");\n";
  os << "        }\n      }\n#pragma unroll\n      for (int load = 0; load < " << loadsAtOnce
     << "; ++load) {\n        if (!isThere[load])\n          continue;\n";
  emitAddition(os, "        ");
  os << "      }\n    }\n  }\n  if (!inside)\n    return;\n";

  std::string table = ExpressionPrinter::getStorageType(getTableType()).str();
  std::string place = "row * " + std::to_string(scatter.columns) + " + column";
  if (columns.width == 1) {
    os << "  out0[" << place << "] = " << ExpressionPrinter::printStored(getTableType(), {"sum"}).text << ";\n";
    return;
  }
  os << "  " << getVectorType(table) << " y0;\n#pragma unroll\n  for (int lane = 0; lane < " << width
     << "; ++lane)\n    y0[lane] = " << ExpressionPrinter::printStored(getTableType(), {"sum[lane]"}).text
     << ";\n  storeVector(out0 + " << place << ", y0);\n";
}

void ScatterKernel::emitAddition(raw_ostream &os, StringRef indent) const {
  std::string lane = columns.width == 1 ? "" : "[lane]";
  Expression sum{"sum" + lane};
  Expression term = ExpressionPrinter::printLoaded(program.scalars[1].type, {"x[load]" + lane});
  Expression added = ExpressionPrinter::print(scatter.add, {sum, term});
  if (scatter.rounding)
    added = ExpressionPrinter::print(scatter.rounding, added);
  if (columns.width > 1)
    os << "#pragma unroll\n" << indent << "for (int lane = 0; lane < " << columns.width << "; ++lane)\n  ";
  os << indent << sum.text << " = " << added.text << ";\n";
}
