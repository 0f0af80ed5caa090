//===- Verifiers.cpp - What variables, buffers and commands refuse -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

//===----------------------------------------------------------------------===//
// Variables and buffers
//===----------------------------------------------------------------------===//

/// Verifies that the views cover the rows of the whole, of which `type` is one of `shards` parts.
static LogicalResult verifyViews(Operation *op, std::optional<ArrayAttr> views, MemRefType type, int64_t shards = 1) {
  if (!views)
    return success();
  if (type.getRank() == 0)
    return op->emitOpError() << "a scalar has no rows to view";
  int64_t rows = 0;
  for (ViewAttr view : views->getAsRange<ViewAttr>())
    rows = addSaturating(rows, view.getRows());
  int64_t whole = multiplySaturating(type.getDimSize(0), shards);
  if (rows != whole)
    return op->emitOpError() << "views cover " << rows << " rows of " << whole;
  return success();
}

static LogicalResult verifyShards(VariableOp variable) {
  if (variable.getKept() && !variable.getGathered())
    return variable.emitOpError() << "keeps the parts of other ranks, but is not gathered";
  if (!variable.getShardsAttr() && variable.getGathered())
    return variable.emitOpError() << "is gathered, but has no shards";
  if (!variable.getShardsAttr())
    return success();
  MemRefType type = variable.getBufferType();
  if (variable.getNumShards() < 2)
    return variable.emitOpError() << "shards must be at least 2, is " << variable.getNumShards();
  if (type.getRank() == 0 || !isa<FloatType>(type.getElementType()))
    return variable.emitOpError() << "is sharded, but only floating-point variables of rank 1 or more can be";
  if (!hasStorableSize(variable.getWholeType()))
    return variable.emitOpError() << "has " << variable.getNumShards() << " shards, together above 2^48 bytes";
  if (variable.getGathered() && getStorageBytes(type) % VariableOp::kPartAlignment != 0)
    return variable.emitOpError() << "is gathered, but its parts of " << getStorageBytes(type)
                                  << " bytes are not multiples of " << VariableOp::kPartAlignment;
  return success();
}

/// Verifies that the name is not empty: variables, inputs and outputs are found by their names.
static LogicalResult verifyName(Operation *op, StringRef name) {
  if (!name.empty())
    return success();
  return op->emitOpError() << "has an empty name";
}

MemRefType VariableOp::getWholeType() {
  SmallVector<int64_t> whole(getBufferType().getShape());
  if (!whole.empty())
    whole[0] = multiplySaturating(whole[0], getNumShards());
  return MemRefType::get(whole, getBufferType().getElementType());
}

LogicalResult VariableOp::verify() {
  return failure(failed(verifyName(*this, getName())) || failed(verifyShards(*this)) ||
                 failed(verifyViews(*this, getViews(), getBufferType(), getNumShards())));
}

LogicalResult OutputOp::verify() {
  return failure(failed(verifyName(*this, getName())) || failed(verifyViews(*this, getViews(), getType())));
}

LogicalResult InputOp::verify() {
  if (failed(verifyName(*this, getName())))
    return failure();
  Type element = getType().getElementType();
  bool holdsIntegers = element.isSignlessInteger(64) || element.isSignlessInteger(32);
  if (getBound() && (static_cast<int64_t>(*getBound()) < 1 || !holdsIntegers))
    return emitOpError() << "bound must be a positive integer on a buffer of i64 or i32";
  return success();
}

LogicalResult GetOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(*this, getVariableAttr());
  if (!variable)
    return emitOpError() << "there is no variable " << getVariableAttr();
  if (getGathered() && !variable.getGathered())
    return emitOpError() << "names the parts of all ranks, but " << getVariableAttr() << " is not gathered";
  MemRefType expected = getGathered() ? variable.getWholeType() : variable.getBufferType();
  if (expected != getType())
    return emitOpError() << "has type " << getType() << ", but the variable's is " << expected;
  return success();
}

int64_t PartOp::getPartDistance() {
  MemRefType source = bufferType(getSource());
  return BufferLayout(source).strides.front() * getElementBytes(source.getElementType());
}

/// Returns the type of each part along axis 0. As a part's place depends on the rank, the offset is that of part 0.
static MemRefType getPartType(MemRefType source) {
  BufferLayout layout(source);
  layout.sizes.erase(layout.sizes.begin());
  layout.strides.erase(layout.strides.begin());
  return layout.getType();
}

LogicalResult PartOp::verify() {
  MemRefType source = bufferType(getSource());
  BufferOpInterface storage = getStorage(getResult());
  if (!storage || !isa<AllocOp, GetOp>(*storage) || getSource().getDefiningOp<PartOp>())
    return emitOpError() << "source must be an allocation, a variable, or a view of one";
  if (!isa<FloatType>(source.getElementType()))
    return emitOpError() << "source must have floating-point elements, has " << source.getElementType();
  if (source.getRank() == 0 || getType() != getPartType(source))
    return emitOpError() << "must be the source without axis 0, is " << getType() << " of " << source;
  if (static_cast<int64_t>(getShift()) >= getNumParts())
    return emitOpError() << "the shift must be below the number of parts, is " << getShift() << " of " << getNumParts();
  if (getPartDistance() == 0 || getPartDistance() % kDistance != 0)
    return emitOpError() << "the distance of parts must be a multiple of " << kDistance << " bytes, is "
                         << getPartDistance();
  return success();
}

LogicalResult PartOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto get = dyn_cast_if_present<GetOp>(getStorage(getResult()).getOperation());
  auto variable = get ? symbols.lookupNearestSymbolFrom<VariableOp>(get, get.getVariableAttr()) : VariableOp();
  // The verifier of `exec.get` rejects unknown variables.
  if (variable && variable.getNumShards() > 1)
    return emitOpError() << "source is in variable " << get.getVariableAttr() << ", of which each rank stores a part";
  return success();
}

LogicalResult ViewOp::verify() {
  BufferOpInterface storage = getStorage(getResult());
  if (!storage)
    return emitOpError() << "source is not a buffer of an entry";
  if (getSource().getDefiningOp<PartOp>())
    return emitOpError() << "source is the part of a rank, whose place in the storage is not known";
  if (getSource().getType().getElementType() != getType().getElementType())
    return emitOpError() << "changes the element type";
  int64_t last = getLastElement(getType()), elements = storage.getBuffer().getType().getNumElements();
  if (last >= elements)
    return emitOpError() << "reaches element " << last << " of storage that has " << elements;
  return success();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static LogicalResult verifyOperandLayouts(LaunchOp launch, OperandRange buffers, ArrayRef<Type> layouts,
                                          StringRef what) {
  if (buffers.size() != layouts.size())
    return launch.emitOpError() << "passes " << buffers.size() << ' ' << what << ", but the kernel has "
                                << layouts.size();
  for (auto [index, buffer, layout] : llvm::enumerate(buffers, layouts))
    if (dropOffset(bufferType(buffer)) != layout)
      return launch.emitOpError() << what << '[' << index << "] is " << buffer.getType() << ", but the kernel's is "
                                  << layout;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "there is no kernel " << getKernelAttr();
  if (failed(verifyOperandLayouts(*this, getInputs(), kernel.getInTypes(), "ins")) ||
      failed(verifyOperandLayouts(*this, getOutputs(), kernel.getOutTypes(), "outs")))
    return failure();
  for (auto [out, output] : llvm::enumerate(getOutputs()))
    for (auto [in, input] : llvm::enumerate(getInputs()))
      if (input == output && !kernel.canWriteOver(in, out))
        return emitOpError() << "writes outs[" << out << "] over ins[" << in << "], which " << getKernelAttr()
                             << " does not read element by element or row by row";
  return success();
}

bool GemmOp::acceptsLayout(MemRefType type) {
  if (type.getRank() < 2)
    return false;
  BufferLayout layout(type);
  ArrayRef<int64_t> sizes = type.getShape().take_back(2), last = ArrayRef(layout.strides).take_back(2);
  auto isMatrix = [&](int outer, int inner) {
    return (sizes[inner] == 1 || last[inner] == 1) && (sizes[outer] == 1 || last[outer] >= sizes[inner]);
  };
  return isMatrix(0, 1) || isMatrix(1, 0);
}

LogicalResult GemmOp::verify() {
  MemRefType a = bufferType(getLhs()), b = bufferType(getRhs()), c = bufferType(getOutput());
  for (MemRefType type : {a, b, c})
    if (!acceptsLayout(type))
      return emitOpError() << "cannot take a matrix of layout " << type
                           << ": one of the last two strides must be 1 and the other at least that axis's size";
  if (a.getElementType() != b.getElementType() || !isa<FloatType>(a.getElementType()))
    return emitOpError() << "operands must have one floating-point element type, have " << a.getElementType() << " and "
                         << b.getElementType();
  if (getLhs() == getOutput() || getRhs() == getOutput() || (getBias() && getBias() == getOutput()))
    return emitOpError()
           << "writes over an operand that libraries read again and again: only an addend may be the output";
  size_t rank = c.getRank();
  if (a.getShape().size() != rank || b.getShape().size() != rank ||
      a.getShape().drop_back(2) != c.getShape().drop_back(2) ||
      b.getShape().drop_back(2) != c.getShape().drop_back(2) || a.getDimSize(rank - 2) != c.getDimSize(rank - 2) ||
      b.getDimSize(rank - 1) != c.getDimSize(rank - 1) || a.getDimSize(rank - 1) != b.getDimSize(rank - 2))
    return emitOpError() << "shapes must be […, M, K], […, K, N] and […, M, N], are " << a << ", " << b << " and " << c;
  if (getBias()) {
    MemRefType bias = dropOffset(bufferType(getBias()));
    if (bias != MemRefType::get({c.getDimSize(rank - 1)}, c.getElementType()))
      return emitOpError() << "the bias must be a dense row of the output's elements, is " << bias << " and " << c;
    if (BufferLayout(c).strides.back() != 1 && c.getDimSize(rank - 1) != 1)
      return emitOpError() << "with a bias the output's rows must be contiguous, is " << c;
  }
  if (!getAddend())
    return success();
  if (dropOffset(bufferType(getAddend())) != dropOffset(c))
    return emitOpError() << "the addend must lie as the output does, is " << bufferType(getAddend()) << " and " << c;
  return success();
}

LogicalResult CopyOp::verify() {
  MemRefType source = bufferType(getSource()), target = bufferType(getTarget());
  if (source.getShape() != target.getShape() || source.getElementType() != target.getElementType())
    return emitOpError() << "source and target must agree in sizes and elements, are " << source << " and " << target;
  return success();
}

LogicalResult CheckBoundOp::verify() {
  MemRefType source = bufferType(getSource()), target = bufferType(getTarget());
  if (static_cast<int64_t>(getBound()) < 1)
    return emitOpError() << "bound must be at least 1, is " << static_cast<int64_t>(getBound());
  if (!source.getElementType().isSignlessInteger(32) && !source.getElementType().isSignlessInteger(64))
    return emitOpError() << "checks integers of 32 or 64 bits, has " << source;
  if (source.getShape() != target.getShape() || source.getElementType() != target.getElementType())
    return emitOpError() << "source and target must agree in sizes and elements, are " << source << " and " << target;
  for (MemRefType type : {source, target})
    if (!dropOffset(type).getLayout().isIdentity())
      return emitOpError() << "needs dense buffers, has " << type;
  return success();
}

LogicalResult CollectiveOp::verify() {
  if (failed(verifyCollective(*this, getCollectiveAttributes(*this, getOthers()), getSources().getTypes(),
                              getTargets().getTypes())))
    return failure();
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    bool mayBeColumns = getKind() == CollectiveKind::AllToAll && operand.getOperandNumber() < getSources().size();
    MemRefType type = bufferType(operand.get());
    bool isColumns = mayBeColumns && hasPartsOfColumns(type) && type.getDimSize(0) == static_cast<int64_t>(getGroup());
    if (!isColumns && !dropOffset(type).getLayout().isIdentity())
      return emitOpError() << "needs dense buffers, has " << type;
  }
  bool keepsPlaces = getKind() == CollectiveKind::AllReduce || getKind() == CollectiveKind::Broadcast;
  for (auto [index, target] : llvm::enumerate(getTargets())) {
    if (llvm::is_contained(getTargets().drop_front(index + 1), target))
      return emitOpError() << "writes outs[" << index << "] twice";
    for (auto [position, source] : llvm::enumerate(getSources()))
      if (source == target && (position != index || !keepsPlaces))
        return emitOpError() << "writes outs[" << index << "] over ins[" << position
                             << "], which other ranks may still read: only all_reduce and broadcast can run in place";
  }
  return success();
}
