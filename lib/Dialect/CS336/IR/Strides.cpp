//===- Strides.cpp - Strides of memrefs -----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/Strides.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336;

LogicalResult cs336::getStridesAndOffset(MemRefType type, SmallVectorImpl<int64_t> &strides, int64_t &offset) {
  strides.clear();
  // Read directly: isIdentity() would build the affine map of a strided layout.
  if (auto strided = dyn_cast<StridedLayoutAttr>(type.getLayout())) {
    llvm::append_range(strides, strided.getStrides());
    offset = strided.getOffset();
    return success();
  }
  if (!type.getLayout().isIdentity())
    return type.getStridesAndOffset(strides, offset);
  strides.assign(type.getRank(), 1);
  offset = 0;
  int64_t elements = 1;
  for (auto [size, stride] : llvm::reverse(llvm::zip_equal(type.getShape(), strides))) {
    stride = elements;
    // Dynamic and empty dimensions, and sizes that overflow, are rare: MLIR defines them.
    if (size <= 0 || llvm::MulOverflow(elements, size, elements)) {
      strides.clear();
      return type.getStridesAndOffset(strides, offset);
    }
  }
  return success();
}
