//===- KernelReader.cpp - From linalg to the program of an element --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts at an element of an output and follows the definitions back to the operands: the element of a `linalg.generic`
// is its body on the elements that its maps name; changes of shape become index arithmetic. A generic that reduces adds
// dimensions for its loops. Values that two outputs share are read once.
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "KernelProgram.h"
#include "OutputBoxes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;
using namespace cs336::cuda;

namespace {

/// More dimensions than a program has.
constexpr unsigned maxDims = 64;
/// The maximum number of elements of a table. The table is part of the text, of which NVRTC parses about 70,000 numbers
/// per second, and uses device memory of the kernel's module.
constexpr int64_t maxTableElements = int64_t(1) << 20;

/// The longest last axis of the outputs whose elements one thread computes, if they are computed in different ways.
constexpr int64_t maxUnrolled = 4;

using Indices = SmallVector<AffineExpr, 4>;

class Reader {
public:
  Reader(const DeviceKernel &kernel, std::string &whyNot)
      : kernel(kernel), function(kernel.function), context(function.getContext()), whyNot(whyNot) {}

  /// Reads a program whose points are the outputs' elements. If `unrolls`, a point is all elements of the last axis.
  FailureOr<KernelProgram> read(bool unrolls = false);
  FailureOr<KernelProgram> readRows(const Rows &rows);

private:
  /// The part of a generic's body that has been read, at one point of its loops.
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
  FailureOr<unsigned> readReduction(linalg::GenericOp generic, unsigned result, const Indices &at);
  FailureOr<unsigned> readTable(DenseElementsAttr table, const Indices &at);
  /// Returns a number that is computed from indices and constants alone as an index, or null if it is not.
  AffineExpr getIndexArithmetic(Operation *op, ArrayRef<unsigned> operands);
  /// Returns loops of these extents on which the value read at `at` does not depend.
  std::optional<unsigned> findNest(ArrayRef<int64_t> extents, const Indices &at);
  /// Reads the value of the output, or of each of its boxes, at the point, and its store.
  LogicalResult readOutput(unsigned output, const Indices &point);
  FailureOr<unsigned> readGather(linalg::GenericOp generic, BodyAtPoint &body, tensor::ExtractOp extract);
  FailureOr<unsigned> load(unsigned operand, const Indices &at);
  /// Returns the intersection of the current box and the points in `ranges`.
  unsigned narrowBox(ArrayRef<Box::Range> ranges);
  /// Returns whether the tensor's elements are undefined, because the kernel only writes them.
  bool isUndefined(Value tensor);
  unsigned getConstant(TypedAttr value);
  FailureOr<AffineExpr> getAddress(unsigned operand, const Indices &at);

  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, context); }
  AffineExpr simplify(AffineExpr index) { return simplifyAffineExpr(index, maxDims, 0); }
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
  KernelProgram program;
  /// The current box of points at which elements are read.
  std::optional<unsigned> box;
  // Keyed by the box, the operation and the point, as a map from the iteration space to the loops.
  std::map<std::optional<unsigned>, DenseMap<std::pair<Operation *, AffineMap>, std::unique_ptr<BodyAtPoint>>> bodies;
  std::map<std::optional<unsigned>, DenseMap<std::pair<unsigned, AffineExpr>, unsigned>> loads;
  // Keyed as bodies are, with the number of the result.
  std::map<std::optional<unsigned>, DenseMap<std::tuple<Operation *, unsigned, AffineMap>, unsigned>> reductions;
  DenseMap<Attribute, unsigned> constants;
};

} // namespace

LogicalResult Reader::readOutput(unsigned output, const Indices &point) {
  auto append = [&](FailureOr<unsigned> value, const Indices &at) {
    FailureOr<AffineExpr> address = getAddress(kernel.numInputs + output, at);
    if (failed(value) || failed(address))
      return failure();
    program.stores.push_back({kernel.numInputs + output, *address, *value});
    return success();
  };
  SmallVector<OutputBox> boxes = findBoxes(kernel, output);
  if (boxes.empty())
    return append(readElement(function.getBody().front().getTerminator()->getOperand(output), point), point);
  for (OutputBox &written : boxes) {
    Indices loops(point.size()), at;
    for (auto [loop, index] : llvm::zip_equal(written.loops, point)) {
      loops[loop.first] = index;
      at.push_back(index + loop.second);
    }
    if (failed(append(readBody(written.generic, written.result, loops), at)))
      return failure();
  }
  return success();
}

FailureOr<KernelProgram> Reader::read(bool unrolls) {
  SmallVector<int64_t> shape = getPointShape(kernel, kernel.outputs.front());
  int64_t unrolled = unrolls ? shape.pop_back_val() : 1;
  program.extents.assign(shape.begin(), shape.end());
  program.nests.push_back({0, static_cast<unsigned>(shape.size())});
  Indices point;
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    point.push_back(getAffineDimExpr(dim, context));
  for (unsigned output : kernel.outputs)
    for (int64_t last = 0; last < unrolled; ++last) {
      Indices element(point);
      if (unrolls)
        element.push_back(constant(last));
      if (failed(readOutput(output, element)))
        return failure();
    }
  return std::move(program);
}

/// Returns whether elements of the last axis are computed in different ways, and the axis is so short that one thread
/// can compute all of them.
static bool choosesAlongShortAxis(const KernelProgram &program) {
  if (program.getPoint().getNumDims() == 0 || program.hasReductions())
    return false;
  unsigned last = program.getPoint().end - 1;
  return program.extents[last] > 1 && program.extents[last] <= maxUnrolled &&
         llvm::any_of(program.boxes, [&](const Box &box) {
           return llvm::any_of(box.ranges, [&](const Box::Range &range) { return range.index.isFunctionOfDim(last); });
         });
}

FailureOr<KernelProgram> Reader::readRows(const Rows &rows) {
  unsigned rank = rows.shape.size(), numRowDims = rank - rows.axes.size();
  Indices row, element(rank);
  SmallVector<int64_t> columns;
  for (auto [axis, extent] : llvm::enumerate(rows.shape)) {
    bool isColumn = llvm::is_contained(rows.axes, axis);
    element[axis] = getAffineDimExpr(isColumn ? numRowDims + columns.size() : row.size(), context);
    if (isColumn) {
      columns.push_back(extent);
    } else {
      row.push_back(element[axis]);
      program.extents.push_back(extent);
    }
  }
  SmallVector<int64_t> shapeOfRows(program.extents);
  llvm::append_range(program.extents, columns);
  program.nests = {{0, numRowDims}, {numRowDims, rank}};
  for (unsigned output : kernel.outputs) {
    SmallVector<int64_t> shape = getPointShape(kernel, output);
    if (shape != rows.shape && shape != shapeOfRows) {
      whyNot =
          kernel.getOperandName(kernel.numInputs + output) + " has neither the shape of rows nor one element per row";
      return failure();
    }
    if (failed(readOutput(output, shape == rows.shape ? element : row)))
      return failure();
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
        if (auto value = dyn_cast<SplatElementsAttr>(op.getValue()))
          return getConstant(cast<TypedAttr>(value.getSplatValue<Attribute>()));
        auto table = dyn_cast<DenseElementsAttr>(op.getValue());
        if (!table)
          return refuse("reads a constant whose elements are not in the program");
        if (table.getNumElements() > maxTableElements)
          return refuse("reads a constant of " + Twine(table.getNumElements()) + " elements, more than the " +
                        Twine(maxTableElements) + " that a kernel's text may have: make it an input or a parameter");
        return readTable(table, at);
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
    return readReduction(generic, result, at);
  std::optional<OutputBox> written = findBox(generic->getResult(result));
  if (!written)
    return refuse("writes its result through a map that does more than shift the loops");
  ArrayRef<int64_t> shape = cast<RankedTensorType>(generic->getResult(result).getType()).getShape();
  Value destination = generic.getDpsInits()[result];
  Indices loops(shape.size());
  SmallVector<Box::Range> ranges;
  for (auto [loop, element, extent, size] : llvm::zip_equal(written->loops, at, written->getShape(), shape)) {
    loops[loop.first] = simplify(element - loop.second);
    if (loop.second == 0 && extent == size)
      continue;
    int64_t end = loop.second + extent;
    auto known = dyn_cast<AffineConstantExpr>(element);
    if (!known)
      ranges.push_back({element, loop.second, end});
    else if (known.getValue() < loop.second || known.getValue() >= end)
      return readElement(destination, at);
  }
  if (ranges.empty())
    return readBody(generic, result, loops);

  std::optional<unsigned> around = box;
  unsigned narrowed = narrowBox(ranges);
  box = narrowed;
  FailureOr<unsigned> inside = readBody(generic, result, loops);
  box = around;
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

std::optional<unsigned> Reader::findNest(ArrayRef<int64_t> extents, const Indices &at) {
  auto isMovedBy = [&](const LoopNest &nest) {
    return llvm::any_of(llvm::seq(nest.begin, nest.end), [&](unsigned dim) {
      return llvm::any_of(at, [&](AffineExpr index) { return index.isFunctionOfDim(dim); }) ||
             (box && llvm::any_of(program.boxes[*box].ranges,
                                  [&](const Box::Range &range) { return range.index.isFunctionOfDim(dim); }));
    });
  };
  for (unsigned nest = 1; nest < program.nests.size(); ++nest)
    if (program.getExtents(program.nests[nest]) == extents && !isMovedBy(program.nests[nest]))
      return nest;
  unsigned begin = program.extents.size();
  if (begin + extents.size() > maxDims)
    return std::nullopt;
  llvm::append_range(program.extents, extents);
  program.nests.push_back({begin, static_cast<unsigned>(program.extents.size())});
  return program.nests.size() - 1;
}

FailureOr<unsigned> Reader::readReduction(linalg::GenericOp generic, unsigned result, const Indices &at) {
  std::tuple<Operation *, unsigned, AffineMap> key(generic, result, AffineMap::get(maxDims, 0, at, context));
  if (auto known = reductions[box].find(key); known != reductions[box].end())
    return known->second;

  Value yielded = generic.getBody()->getTerminator()->getOperand(result);
  BlockArgument accumulator = generic.getRegionOutputArgs()[result];
  Operation *combiner = yielded.getDefiningOp();
  bool combines = combiner && combiner->getNumOperands() == 2 && combiner->getBlock() == generic.getBody() &&
                  llvm::count(combiner->getOperands(), accumulator) == 1 && accumulator.hasOneUse() &&
                  arith::getNeutralElement(combiner);
  if (!combines || !ExpressionPrinter::whyUnknown(combiner).empty())
    return refuse("reduces in a way that only one order of the elements allows");

  SmallVector<int64_t> extents = generic.getStaticLoopRanges(), reduced;
  SmallVector<unsigned> reducedLoops;
  generic.getReductionDims(reducedLoops);
  for (unsigned loop : reducedLoops)
    reduced.push_back(extents[loop]);
  std::optional<unsigned> nest = findNest(reduced, at);
  if (!nest)
    return refuse("has more loops than the schedules handle");

  Indices loops(extents.size());
  for (auto [loop, dim] :
       llvm::zip_equal(reducedLoops, llvm::seq(program.nests[*nest].begin, program.nests[*nest].end)))
    loops[loop] = getAffineDimExpr(dim, context);
  AffineMap outputMap = generic.getIndexingMapMatchingResult(generic->getResult(result));
  for (auto [index, element] : llvm::zip_equal(outputMap.getResults(), at)) {
    auto loop = dyn_cast<AffineDimExpr>(index);
    if (!loop)
      return refuse("writes what it reduces through a map that does more than choose loops");
    loops[loop.getPosition()] = element;
  }
  if (llvm::is_contained(loops, AffineExpr()))
    return refuse("has loops that do not move in its result");

  BodyAtPoint body(loops);
  Value combined = combiner->getOperand(combiner->getOperand(0) == accumulator ? 1 : 0);
  FailureOr<unsigned> value = readBodyValue(generic, body, combined);
  if (failed(value))
    return failure();
  FailureOr<unsigned> initial = readElement(generic.getDpsInits()[result], at);
  if (failed(initial))
    return failure();
  return reductions[box][key] = append({.kind = Scalar::Kind::Reduced,
                                        .type = yielded.getType(),
                                        .op = combiner,
                                        .operands = {*value, *initial},
                                        .nest = *nest});
}

FailureOr<unsigned> Reader::readTable(DenseElementsAttr table, const Indices &at) {
  AffineExpr position = constant(0);
  for (auto [index, size] : llvm::zip_equal(at, table.getType().getShape()))
    position = position * size + index;
  return append({.kind = Scalar::Kind::Table,
                 .type = table.getElementType(),
                 .index = simplify(position),
                 .box = box,
                 .table = table});
}

FailureOr<unsigned> Reader::readBody(linalg::GenericOp generic, unsigned result, const Indices &loops) {
  AffineMap point = AffineMap::get(maxDims, 0, loops, context);
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
    if (generic.isDpsInit(operand) && generic.getNumReductionLoops() != 0)
      return refuse("reduces in a way that only one order of the elements allows");
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
      if (AffineExpr index = getIndexArithmetic(op, *operands))
        scalar = append({.kind = Scalar::Kind::Index, .type = value.getType(), .index = index});
      else
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

AffineExpr Reader::getIndexArithmetic(Operation *op, ArrayRef<unsigned> operands) {
  if (operands.size() != 2 || !op->getResult(0).getType().isIndex())
    return {};
  auto getIndex = [&](unsigned id) -> AffineExpr {
    const Scalar &scalar = program.scalars[id];
    if (auto number = dyn_cast_if_present<IntegerAttr>(scalar.constant))
      return constant(number.getInt());
    return scalar.kind == Scalar::Kind::Index ? scalar.index : AffineExpr();
  };
  AffineExpr lhs = getIndex(operands[0]), rhs = getIndex(operands[1]);
  if (!lhs || !rhs)
    return {};
  // Indices are not negative, so unsigned division equals the division of affine expressions.
  bool byConstant = rhs.isSymbolicOrConstant() && cast<AffineConstantExpr>(rhs).getValue() > 0;
  return llvm::TypeSwitch<Operation *, AffineExpr>(op)
      .Case([&](arith::AddIOp) { return simplify(lhs + rhs); })
      .Case([&](arith::MulIOp) {
        return lhs.isSymbolicOrConstant() || rhs.isSymbolicOrConstant() ? simplify(lhs * rhs) : AffineExpr();
      })
      .Case([&](arith::DivUIOp) { return byConstant ? simplify(lhs.floorDiv(rhs)) : AffineExpr(); })
      .Case([&](arith::RemUIOp) { return byConstant ? simplify(lhs % rhs) : AffineExpr(); })
      .Default(AffineExpr());
}

FailureOr<unsigned> Reader::readGather(linalg::GenericOp generic, BodyAtPoint &body, tensor::ExtractOp extract) {
  auto indices = readBodyValues(generic, body, extract.getIndices());
  if (failed(indices))
    return failure();
  Indices at;
  for (unsigned index : *indices)
    if (program.scalars[index].kind == Scalar::Kind::Index)
      at.push_back(program.scalars[index].index);
  if (at.size() == indices->size())
    return readElement(extract.getTensor(), at);

  auto table = dyn_cast<BlockArgument>(extract.getTensor());
  if (!table)
    return refuse("reads at computed indices from a tensor that it computes");
  // The strides are known if any address is.
  if (failed(getAddress(table.getArgNumber(), Indices(indices->size(), constant(0)))))
    return failure();
  return append({.kind = Scalar::Kind::Gather,
                 .type = extract.getType(),
                 .operand = table.getArgNumber(),
                 .operands = *indices,
                 .box = box});
}

FailureOr<KernelProgram> KernelProgram::read(const DeviceKernel &kernel, std::string &whyNot) {
  FailureOr<KernelProgram> program = Reader(kernel, whyNot).read();
  if (failed(program) || !choosesAlongShortAxis(*program))
    return program;
  return Reader(kernel, whyNot).read(/*unrolls=*/true);
}

FailureOr<KernelProgram> KernelProgram::readRows(const DeviceKernel &kernel, const Rows &rows, std::string &whyNot) {
  return Reader(kernel, whyNot).readRows(rows);
}
