//===- Views.cpp - Layout operations as strided views -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Strides.h"

using namespace mlir;
using namespace cs336;

namespace {
/// Strides and offset of a buffer, in elements.
struct Layout {
  SmallVector<int64_t> strides;
  int64_t offset;
};
} // namespace

static Layout getLayout(MemRefType type) {
  Layout layout;
  // Every buffer has a static strided layout; the exec dialect's verifiers reject all others.
  LogicalResult isStrided = getStridesAndOffset(type, layout.strides, layout.offset);
  assert(succeeded(isStrided) && "every buffer has strides");
  (void)isStrided;
  return layout;
}

static MemRefType makeView(MemRefType source, ArrayRef<int64_t> shape, const Layout &layout) {
  auto attribute = StridedLayoutAttr::get(source.getContext(), layout.offset, layout.strides);
  auto type = MemRefType::get(shape, source.getElementType(), attribute, source.getMemorySpace());
  // A row-major view at the buffer's start is the plain type, so that equal layouts have equal types.
  auto plain = MemRefType::get(shape, source.getElementType(), MemRefLayoutAttrInterface(), source.getMemorySpace());
  Layout plainLayout = getLayout(plain);
  return layout.offset == 0 && plainLayout.strides == layout.strides ? plain : type;
}

static ArrayRef<int64_t> resultShape(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType()).getShape();
}

FailureOr<MemRefType> BarrierOp::getViewType(MemRefType source) { return source; }

FailureOr<MemRefType> BroadcastOp::getViewType(MemRefType source) {
  Layout from = getLayout(source);
  Layout to{SmallVector<int64_t>(resultShape(*this).size(), 0), from.offset};
  for (auto [axis, resultAxis] : llvm::enumerate(getDims()))
    to.strides[resultAxis] = from.strides[axis];
  return makeView(source, resultShape(*this), to);
}

FailureOr<MemRefType> TransposeOp::getViewType(MemRefType source) {
  Layout from = getLayout(source);
  Layout to{{}, from.offset};
  for (int64_t axis : getPerm())
    to.strides.push_back(from.strides[axis]);
  return makeView(source, resultShape(*this), to);
}

FailureOr<MemRefType> SliceOp::getViewType(MemRefType source) {
  Layout layout = getLayout(source);
  for (auto [stride, offset] : llvm::zip_equal(layout.strides, getOffsets()))
    layout.offset += stride * offset;
  return makeView(source, resultShape(*this), layout);
}

/// Walks both shapes from the back. A run of source axes that nest without gaps (outer stride = inner stride · inner
/// size) can be split and merged freely; a boundary between runs must be a boundary in the result's shape too.
FailureOr<MemRefType> ReshapeOp::getViewType(MemRefType source) {
  Layout from = getLayout(source);
  ArrayRef<int64_t> shape = resultShape(*this);
  Layout to{SmallVector<int64_t>(shape.size(), 1), from.offset};

  // Axes of size 1 have no effect.
  SmallVector<std::pair<int64_t, int64_t>> axes; // size, stride
  for (auto [size, stride] : llvm::zip_equal(source.getShape(), from.strides))
    if (size != 1)
      axes.push_back({size, stride});

  int64_t next = static_cast<int64_t>(shape.size()) - 1;
  while (!axes.empty()) {
    auto [runSize, runStride] = axes.pop_back_val();
    while (!axes.empty() && axes.back().second == runStride * runSize)
      runSize *= axes.pop_back_val().first;
    int64_t stride = runStride;
    while (runSize > 1 && next >= 0) {
      if (runSize % shape[next] != 0)
        return failure();
      to.strides[next] = stride;
      stride *= shape[next];
      runSize /= shape[next];
      --next;
    }
    if (runSize != 1)
      return failure();
  }
  // The remaining axes are leading axes of size 1, whose strides are those of a row-major tensor.
  for (; next >= 0; --next)
    to.strides[next] = next + 1 < static_cast<int64_t>(shape.size()) ? to.strides[next + 1] * shape[next + 1] : 1;
  return makeView(source, shape, to);
}
