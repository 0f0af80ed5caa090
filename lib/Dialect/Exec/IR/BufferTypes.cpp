//===- BufferTypes.cpp - Which memrefs are buffers ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"

#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/Strides.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace cs336;

/// Returns nullopt if the layout is not static, a number in it is negative, or the sum overflows.
static std::optional<int64_t> findLastElement(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t last;
  if (failed(getStridesAndOffset(type, strides, last)) || last < 0)
    return std::nullopt;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    int64_t distance;
    if (stride < 0 || llvm::MulOverflow(std::max<int64_t>(size, 1) - 1, stride, distance) ||
        llvm::AddOverflow(last, distance, last))
      return std::nullopt;
  }
  return last;
}

bool exec::isBuffer(Type type) {
  constexpr int64_t kMostElements = int64_t{1} << 48;
  auto buffer = dyn_cast<MemRefType>(type);
  if (!buffer || !isElementType(buffer.getElementType()) || !buffer.hasStaticShape() || !hasRepresentableSize(buffer))
    return false;
  std::optional<int64_t> last = findLastElement(buffer);
  return last && *last < kMostElements;
}

int64_t exec::getLastElement(MemRefType type) { return *findLastElement(type); }
