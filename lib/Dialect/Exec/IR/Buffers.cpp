//===- Buffers.cpp - Types, storage and views of buffers -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/IR/Buffers.h"

#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/Strides.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

BufferLayout::BufferLayout(MemRefType type) : sizes(type.getShape()), elementType(type.getElementType()) {
  // Buffers are strided by their type constraint; until that has been verified, strides may be unknown.
  if (failed(getStridesAndOffset(type, strides, offset))) {
    strides.assign(sizes.size(), ShapedType::kDynamic);
    offset = ShapedType::kDynamic;
  }
}

MemRefType BufferLayout::getType() const {
  auto plain = MemRefType::get(sizes, elementType);
  if (offset == 0 && BufferLayout(plain).strides == strides)
    return plain;
  return MemRefType::get(sizes, elementType, StridedLayoutAttr::get(elementType.getContext(), offset, strides));
}

BufferOpInterface exec::getStorage(Value buffer) {
  while (buffer) {
    auto op = buffer.getDefiningOp<BufferOpInterface>();
    if (!op || !op.getViewSource())
      return op;
    buffer = op.getViewSource();
  }
  return {};
}

int64_t exec::getElementBytes(Type elementType) { return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8); }

int64_t exec::getStorageBytes(MemRefType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

bool exec::hasUsableSize(MemRefType type) { return hasStorableSize(type); }

MemRefType exec::dropOffset(MemRefType type) {
  if (type.getLayout().isIdentity())
    return type;
  BufferLayout layout(type);
  layout.offset = 0;
  return layout.getType();
}

bool exec::hasPartsOfColumns(MemRefType type) {
  if (type.getRank() != 3)
    return false;
  SmallVector<int64_t> strides;
  int64_t offset, parts = type.getDimSize(0), columns = type.getDimSize(2);
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides == SmallVector<int64_t>{columns, parts * columns, 1};
}

MemRefType exec::getDenseType(ShapedType type) { return MemRefType::get(type.getShape(), type.getElementType()); }

Value exec::createView(OpBuilder &builder, Location loc, Value buffer, MemRefType type) {
  Value storage = getStorage(buffer).getBuffer();
  return storage.getType() == type ? storage : ViewOp::create(builder, loc, type, storage);
}

Value exec::createRows(OpBuilder &builder, Location loc, Value buffer, int64_t ranks, int64_t shift) {
  BufferLayout layout(bufferType(buffer));
  layout.sizes.front() /= ranks;
  MemRefType rows = layout.getType();
  layout.sizes.insert(layout.sizes.begin(), ranks);
  layout.strides.insert(layout.strides.begin(), layout.sizes[1] * layout.strides.front());
  return PartOp::create(builder, loc, rows, createView(builder, loc, buffer, layout.getType()), shift);
}

Value exec::createDenseCopy(OpBuilder &builder, Location loc, Value buffer) {
  Value copy = AllocOp::create(builder, loc, getDenseType(cast<MemRefType>(buffer.getType())), IntegerAttr());
  CopyOp::create(builder, loc, buffer, copy);
  return copy;
}
