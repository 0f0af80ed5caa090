//===- PointwiseProgram.cpp - One element of a kernel's outputs -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts at an element of an output and follows the definitions back to the operands: the element of a `linalg.generic`
// is its body on the elements that its maps name; changes of shape become index arithmetic. What two outputs share is
// read once.
//
//===----------------------------------------------------------------------===//

#include "PointwiseProgram.h"
#include "ExpressionPrinter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;
using namespace cs336::cuda;

int64_t PointwiseProgram::getNumPoints() const { return ShapedType::getNumElements(extents); }

void PointwiseProgram::forEachIndex(llvm::function_ref<void(AffineExpr &)> fn) {
  for (Scalar &scalar : scalars)
    if (scalar.index)
      fn(scalar.index);
  for (Box &box : boxes)
    for (Box::Range &range : box.ranges)
      fn(range.index);
  for (Store &store : stores)
    fn(store.index);
}

void PointwiseProgram::forEachIndex(llvm::function_ref<void(AffineExpr)> fn) const {
  PointwiseProgram copy = *this;
  copy.forEachIndex([&](AffineExpr &index) { fn(index); });
}

namespace {

using Indices = SmallVector<AffineExpr, 4>;

class Reader {
public:
  Reader(const DeviceKernel &kernel, std::string &whyNot)
      : kernel(kernel), function(kernel.function), context(function.getContext()), whyNot(whyNot) {}

  FailureOr<PointwiseProgram> read();

private:
  /// The body of a generic at one point of its loops, as far as it has been read.
  struct BodyAtPoint {
    explicit BodyAtPoint(Indices loops) : loops(std::move(loops)) {}
    Indices loops;
    DenseMap<Value, unsigned> scalars;
  };

  FailureOr<unsigned> readElement(Value tensor, Indices at);
  FailureOr<unsigned> readGeneric(linalg::GenericOp generic, unsigned result, const Indices &at);
  FailureOr<unsigned> readBody(linalg::GenericOp generic, unsigned result, const Indices &loops);
  FailureOr<unsigned> readBodyValue(linalg::GenericOp generic, BodyAtPoint &body, Value value);
  FailureOr<SmallVector<unsigned, 3>> readBodyValues(linalg::GenericOp generic, BodyAtPoint &body, ValueRange values);
  FailureOr<unsigned> readGather(linalg::GenericOp generic, BodyAtPoint &body, tensor::ExtractOp extract);
  FailureOr<unsigned> load(unsigned operand, const Indices &at);
  /// The box at hand, and within it the points where `ranges` hold.
  unsigned narrowBox(ArrayRef<Box::Range> ranges);
  /// Whether nothing says what the tensor's elements are: what a kernel only writes.
  bool isUndefined(Value tensor);
  unsigned getConstant(TypedAttr value);
  FailureOr<AffineExpr> getAddress(unsigned operand, const Indices &at);

  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, context); }
  AffineExpr simplify(AffineExpr index) { return simplifyAffineExpr(index, program.extents.size(), 0); }
  unsigned append(Scalar scalar) {
    program.scalars.push_back(std::move(scalar));
    return program.scalars.size() - 1;
  }
  FailureOr<unsigned> refuse(const Twine &reason) {
    whyNot = reason.str();
    return failure();
  }

  const DeviceKernel &kernel;
  func::FuncOp function;
  MLIRContext *context;
  std::string &whyNot;
  PointwiseProgram program;
  /// The box of the points at which elements are read at the moment.
  std::optional<unsigned> box;
  // Keyed by the box, the operation and the point, as a map from the iteration space to the loops.
  std::map<std::optional<unsigned>, DenseMap<std::pair<Operation *, AffineMap>, std::unique_ptr<BodyAtPoint>>> bodies;
  std::map<std::optional<unsigned>, DenseMap<std::pair<unsigned, AffineExpr>, unsigned>> loads;
  DenseMap<Attribute, unsigned> constants;
};

} // namespace

FailureOr<PointwiseProgram> Reader::read() {
  auto results = function.getBody().front().getTerminator()->getOperands();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(results.front().getType()).getShape();
  program.extents.assign(shape.begin(), shape.end());
  Indices point;
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    point.push_back(getAffineDimExpr(dim, context));

  for (auto [i, result] : llvm::enumerate(results)) {
    if (cast<RankedTensorType>(result.getType()).getShape() != shape) {
      whyNot = "has outputs of different shapes";
      return failure();
    }
    FailureOr<unsigned> value = readElement(result, point);
    FailureOr<AffineExpr> address = getAddress(kernel.numInputs + i, point);
    if (failed(value) || failed(address))
      return failure();
    program.stores.push_back({kernel.numInputs + static_cast<unsigned>(i), *address, *value});
  }
  return std::move(program);
}

FailureOr<AffineExpr> Reader::getAddress(unsigned operand, const Indices &at) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(kernel.operands[operand].getStridesAndOffset(strides, offset)) || ShapedType::isDynamic(offset) ||
      llvm::any_of(strides, ShapedType::isDynamic)) {
    whyNot = kernel.getOperandName(operand) + " has strides or an offset that are not known";
    return failure();
  }
  AffineExpr address = constant(offset);
  for (auto [index, stride] : llvm::zip_equal(at, strides))
    address = address + index * stride;
  return simplify(address);
}

FailureOr<unsigned> Reader::load(unsigned operand, const Indices &at) {
  FailureOr<AffineExpr> address = getAddress(operand, at);
  if (failed(address))
    return failure();
  auto [entry, isNew] = loads[box].try_emplace({operand, *address}, 0);
  if (isNew)
    entry->second = append({.kind = Scalar::Kind::Load,
                            .type = kernel.operands[operand].getElementType(),
                            .operand = operand,
                            .index = *address,
                            .box = box});
  return entry->second;
}

unsigned Reader::getConstant(TypedAttr value) {
  auto [entry, isNew] = constants.try_emplace(value, 0);
  if (isNew)
    entry->second = append({.kind = Scalar::Kind::Constant, .type = value.getType(), .constant = value});
  return entry->second;
}

FailureOr<unsigned> Reader::readElement(Value tensor, Indices at) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return load(argument.getArgNumber(), at);

  return llvm::TypeSwitch<Operation *, FailureOr<unsigned>>(tensor.getDefiningOp())
      .Case([&](linalg::GenericOp op) { return readGeneric(op, cast<OpResult>(tensor).getResultNumber(), at); })
      .Case([&](arith::ConstantOp op) -> FailureOr<unsigned> {
        auto value = dyn_cast<SplatElementsAttr>(op.getValue());
        if (!value)
          return refuse("reads a constant table");
        return getConstant(cast<TypedAttr>(value.getSplatValue<Attribute>()));
      })
      .Case([&](tensor::CollapseShapeOp op) {
        Indices source;
        for (auto [group, index] : llvm::zip_equal(op.getReassociationIndices(), at)) {
          int64_t inner = 1;
          for (int64_t dim : group)
            inner *= op.getSrcType().getDimSize(dim);
          for (int64_t dim : group) {
            int64_t size = op.getSrcType().getDimSize(dim);
            inner /= size;
            source.push_back(simplify(dim == group.front() ? index.floorDiv(inner) : index.floorDiv(inner) % size));
          }
        }
        // A tensor of one element collapses to rank 0, and its indices are all zero.
        source.resize(op.getSrcType().getRank(), constant(0));
        return readElement(op.getSrc(), source);
      })
      .Case([&](tensor::ExpandShapeOp op) {
        Indices source;
        for (const ReassociationIndices &group : op.getReassociationIndices()) {
          AffineExpr index = constant(0);
          for (int64_t dim : group)
            index = index * op.getResultType().getDimSize(dim) + at[dim];
          source.push_back(simplify(index));
        }
        return readElement(op.getSrc(), source);
      })
      .Case([&](tensor::ExtractSliceOp op) -> FailureOr<unsigned> {
        if (!op.hasUnitStride() || llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic))
          return refuse("takes a slice whose offsets are not known or whose steps are not one");
        llvm::SmallBitVector dropped = op.getDroppedDims();
        Indices source;
        for (unsigned dim = 0, kept = 0; dim < dropped.size(); ++dim)
          source.push_back((dropped[dim] ? constant(0) : at[kept++]) + op.getStaticOffset(dim));
        return readElement(op.getSource(), source);
      })
      .Default([&](Operation *op) { return refuse("contains " + op->getName().getStringRef()); });
}

/// The loop and the constant that make up a result of an output's map, or nothing if it is another expression. A loop
/// modulo a size that it stays below, which is how linalg takes a box at the origin, is the loop.
static std::optional<std::pair<unsigned, int64_t>> getShiftedLoop(AffineExpr index, ArrayRef<int64_t> extents) {
  if (auto dim = dyn_cast<AffineDimExpr>(index))
    return std::pair(dim.getPosition(), int64_t(0));
  auto binary = dyn_cast<AffineBinaryOpExpr>(index);
  if (!binary)
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(binary.getLHS());
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!dim || !constant)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add)
    return std::pair(dim.getPosition(), constant.getValue());
  if (binary.getKind() == AffineExprKind::Mod && extents[dim.getPosition()] <= constant.getValue())
    return std::pair(dim.getPosition(), int64_t(0));
  return std::nullopt;
}

unsigned Reader::narrowBox(ArrayRef<Box::Range> ranges) {
  Box narrowed = box ? program.boxes[*box] : Box();
  narrowed.ranges.append(ranges.begin(), ranges.end());
  program.boxes.push_back(std::move(narrowed));
  return program.boxes.size() - 1;
}

bool Reader::isUndefined(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return argument.getArgNumber() >= kernel.numInputs;
  return isa<tensor::EmptyOp>(tensor.getDefiningOp());
}

FailureOr<unsigned> Reader::readGeneric(linalg::GenericOp generic, unsigned result, const Indices &at) {
  if (generic.getNumReductionLoops() != 0)
    return refuse("reduces over an axis");
  AffineMap outputMap = generic.getIndexingMapMatchingResult(generic->getResult(result));
  SmallVector<int64_t> extents = generic.getStaticLoopRanges();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(generic->getResult(result).getType()).getShape();
  Indices loops(extents.size());
  SmallVector<Box::Range> ranges;
  for (auto [index, element, size] : llvm::zip_equal(outputMap.getResults(), at, shape)) {
    std::optional<std::pair<unsigned, int64_t>> shifted = getShiftedLoop(index, extents);
    if (!shifted)
      return refuse("writes its result through a map that does more than shift the loops");
    auto [loop, begin] = *shifted;
    loops[loop] = simplify(element - begin);
    if (begin != 0 || extents[loop] != size)
      ranges.push_back({element, begin, begin + extents[loop]});
  }
  if (llvm::is_contained(loops, AffineExpr()))
    return refuse("has loops that do not move in its result");
  if (ranges.empty())
    return readBody(generic, result, loops);

  std::optional<unsigned> around = box;
  unsigned narrowed = narrowBox(ranges);
  box = narrowed;
  FailureOr<unsigned> inside = readBody(generic, result, loops);
  box = around;
  Value destination = generic.getDpsInits()[result];
  if (failed(inside) || isUndefined(destination))
    return inside;
  FailureOr<unsigned> outside = readElement(destination, at);
  if (failed(outside))
    return failure();
  return append({.kind = Scalar::Kind::Choice,
                 .type = program.scalars[*inside].type,
                 .operands = {*inside, *outside},
                 .box = narrowed});
}

FailureOr<unsigned> Reader::readBody(linalg::GenericOp generic, unsigned result, const Indices &loops) {
  AffineMap point = AffineMap::get(program.extents.size(), 0, loops, context);
  std::unique_ptr<BodyAtPoint> &body = bodies[box][{generic, point}];
  if (!body)
    body = std::make_unique<BodyAtPoint>(loops);
  return readBodyValue(generic, *body, generic.getBody()->getTerminator()->getOperand(result));
}

FailureOr<unsigned> Reader::readBodyValue(linalg::GenericOp generic, BodyAtPoint &body, Value value) {
  if (auto known = body.scalars.find(value); known != body.scalars.end())
    return known->second;

  FailureOr<unsigned> scalar;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != generic.getBody())
      return refuse("uses a scalar from outside its loops");
    OpOperand *operand = generic.getMatchingOpOperand(argument);
    AffineMap map = generic.getMatchingIndexingMap(operand);
    Indices at;
    for (AffineExpr index : map.getResults())
      at.push_back(simplify(index.replaceDims(body.loops)));
    scalar = readElement(operand->get(), at);
  } else {
    Operation *op = value.getDefiningOp();
    Attribute constantValue;
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      scalar = append({.kind = Scalar::Kind::Index, .type = value.getType(), .index = body.loops[index.getDim()]});
    } else if (matchPattern(op, m_Constant(&constantValue))) {
      scalar = getConstant(cast<TypedAttr>(constantValue));
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      scalar = readGather(generic, body, extract);
    } else if (std::string unknown = ExpressionPrinter::whyUnknown(op); !unknown.empty()) {
      return refuse(unknown);
    } else {
      auto operands = readBodyValues(generic, body, op->getOperands());
      if (failed(operands))
        return failure();
      scalar = append({.kind = Scalar::Kind::Operation, .type = value.getType(), .op = op, .operands = *operands});
    }
  }
  if (succeeded(scalar))
    body.scalars[value] = *scalar;
  return scalar;
}

FailureOr<SmallVector<unsigned, 3>> Reader::readBodyValues(linalg::GenericOp generic, BodyAtPoint &body,
                                                           ValueRange values) {
  SmallVector<unsigned, 3> scalars;
  for (Value value : values) {
    FailureOr<unsigned> scalar = readBodyValue(generic, body, value);
    if (failed(scalar))
      return failure();
    scalars.push_back(*scalar);
  }
  return scalars;
}

FailureOr<unsigned> Reader::readGather(linalg::GenericOp generic, BodyAtPoint &body, tensor::ExtractOp extract) {
  auto table = dyn_cast<BlockArgument>(extract.getTensor());
  if (!table)
    return refuse("reads at computed indices from a tensor that it computes");
  if (box)
    return refuse("reads at computed indices for a part of its result");
  auto indices = readBodyValues(generic, body, extract.getIndices());
  // The strides are known if any address is.
  if (failed(indices) || failed(getAddress(table.getArgNumber(), Indices(indices->size(), constant(0)))))
    return failure();
  return append(
      {.kind = Scalar::Kind::Gather, .type = extract.getType(), .operand = table.getArgNumber(), .operands = *indices});
}

FailureOr<PointwiseProgram> PointwiseProgram::read(const DeviceKernel &kernel, std::string &whyNot) {
  return Reader(kernel, whyNot).read();
}
