//===- Collectives.cpp - Rules and costs of collectives -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/Collectives.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace cs336;

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

bool cs336::isReducing(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter;
}

bool cs336::writesParts(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather || kind == CollectiveKind::AllToAll;
}

static LogicalResult verifyAttributes(Operation *op, const CollectiveAttributes &attributes) {
  StringRef kind = stringifyCollectiveKind(attributes.kind);
  if (attributes.group < 1)
    return op->emitOpError() << "group must have at least 1 rank, has " << attributes.group;
  if (attributes.others && !writesParts(attributes.kind))
    return op->emitOpError() << kind << " cannot have only the parts of other ranks: all_gather and all_to_all can";
  if (attributes.others && attributes.group < 2)
    return op->emitOpError() << "has the parts of other ranks, but its group has 1 rank";
  if (isReducing(attributes.kind) && !attributes.reduction)
    return op->emitOpError() << kind << " requires a reduction: sum, mean or max";
  if (!isReducing(attributes.kind) && attributes.reduction)
    return op->emitOpError() << kind << " does not reduce, has reduction "
                             << stringifyCollectiveReduction(*attributes.reduction);
  if (attributes.kind != CollectiveKind::Broadcast) {
    if (attributes.root)
      return op->emitOpError() << kind << " has no root, has root " << *attributes.root;
    return success();
  }
  if (!attributes.root)
    return op->emitOpError() << "broadcast requires a root: the rank whose values all ranks get";
  if (*attributes.root < 0 || *attributes.root >= attributes.group)
    return op->emitOpError() << "root " << *attributes.root << " is not a rank of a group of " << attributes.group;
  return success();
}

/// Verifies that axis 0 of `whole` is `count` times that of `part`, and that all other axes are equal.
static LogicalResult verifyParts(Operation *op, ShapedType part, ShapedType whole, int64_t count) {
  if (part.getRank() == 0)
    return op->emitOpError() << "requires shapes of rank 1 or more, has " << part;
  SmallVector<int64_t> expected(part.getShape());
  expected[0] = multiplySaturating(expected[0], count);
  if (whole.getShape() == ArrayRef(expected))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError() << "the shape of all " << count << " parts must be [";
  llvm::interleaveComma(expected, diagnostic);
  return diagnostic << "], " << count << " times " << part << " along axis 0, is " << whole;
}

static LogicalResult verifyAllToAll(Operation *op, const CollectiveAttributes &attributes, ShapedType source,
                                    ShapedType target) {
  if (source.getRank() == 0 || source.getDimSize(0) % attributes.group != 0)
    return op->emitOpError() << "all_to_all between " << attributes.group
                             << " ranks requires an axis 0 that their number divides, has " << source;
  SmallVector<int64_t> part(source.getShape());
  part[0] /= attributes.group;
  return verifyParts(op, source.clone(part), target, attributes.getNumResultParts());
}

static LogicalResult verifyShapes(Operation *op, const CollectiveAttributes &attributes, ShapedType source,
                                  ShapedType target) {
  if (attributes.kind == CollectiveKind::AllGather)
    return verifyParts(op, source, target, attributes.getNumResultParts());
  if (attributes.kind == CollectiveKind::ReduceScatter)
    return verifyParts(op, target, source, attributes.group);
  if (attributes.kind == CollectiveKind::AllToAll && attributes.others)
    return verifyAllToAll(op, attributes, source, target);
  StringRef kind = stringifyCollectiveKind(attributes.kind);
  if (source.getShape() != target.getShape())
    return op->emitOpError() << kind << " keeps the shape, has " << source << " and " << target;
  return attributes.kind == CollectiveKind::AllToAll ? verifyAllToAll(op, attributes, source, target) : success();
}

LogicalResult cs336::verifyCollective(Operation *op, const CollectiveAttributes &attributes, TypeRange sources,
                                      TypeRange targets) {
  if (failed(verifyAttributes(op, attributes)))
    return failure();
  if (sources.empty() || sources.size() != targets.size())
    return op->emitOpError() << "requires at least 1 operand, and a result for each, has " << sources.size() << " and "
                             << targets.size();
  for (auto [from, to] : llvm::zip_equal(sources, targets)) {
    auto source = cast<ShapedType>(from), target = cast<ShapedType>(to);
    if (source.getElementType() != target.getElementType())
      return op->emitOpError() << "keeps the element type, has " << source << " and " << target;
    if (attributes.reduction && source.getElementType().isInteger(1))
      return op->emitOpError() << stringifyCollectiveKind(attributes.kind) << " reduces numbers, has " << source;
    if (failed(verifyShapes(op, attributes, source, target)))
      return failure();
  }
  return success();
}

LogicalResult CollectiveOp::verify() {
  return verifyCollective(*this, getCollectiveAttributes(*this), getInputs().getTypes(), getOutputs().getTypes());
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

int64_t cs336::getRingBytes(CollectiveKind kind, int64_t group, int64_t bytes) {
  if (group == 1)
    return 0;
  if (kind == CollectiveKind::Broadcast)
    return bytes;
  int64_t allButOwn = bytes - bytes / group;
  return kind == CollectiveKind::AllReduce ? multiplySaturating(2, allButOwn) : allButOwn;
}

int64_t CollectiveOp::getFlops() {
  if (!isReducing(getKind()))
    return 0;
  // Counts combinations per element of the result on one rank: a part for a reduce-scatter, and the whole for an
  // all-reduce, although the ranks of a ring share this work.
  int64_t perElement = getGroup() - 1 + (getReduction() == CollectiveReduction::Mean ? 1 : 0);
  int64_t flops = 0;
  for (Value output : getOutputs())
    flops = addSaturating(flops, multiplySaturating(perElement, tensorType(output).getNumElements()));
  return flops;
}

int64_t CollectiveOp::getWireBytes() {
  int64_t bytes = 0;
  for (auto [input, output] : llvm::zip_equal(getInputs(), getOutputs())) {
    Value whole = getKind() == CollectiveKind::AllGather ? output : input;
    bytes = addSaturating(bytes, getRingBytes(getKind(), getGroup(), getTensorBytes(whole)));
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

ParseResult cs336::parseCollectiveKind(OpAsmParser &parser, CollectiveKindAttr &kind,
                                       CollectiveReductionAttr &reduction) {
  if (failed(parseEnumerator(parser, kind)))
    return failure();
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword, {"sum", "mean", "max"})))
    reduction = CollectiveReductionAttr::get(parser.getContext(), *symbolizeCollectiveReduction(keyword));
  return success();
}

void cs336::printCollectiveKind(OpAsmPrinter &printer, Operation *, CollectiveKindAttr kind,
                                CollectiveReductionAttr reduction) {
  printer << kind.getValue();
  if (reduction)
    printer << ' ' << reduction.getValue();
}
