//===- Sizes.cpp - Limits of sizes ----------------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/Sizes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace cs336;

static constexpr int64_t kMostBytes = int64_t{1} << 56;
static constexpr int64_t kMostStoredBytes = int64_t{1} << 48;

bool cs336::isElementType(Type type) {
  return type.isF64() || type.isF32() || type.isBF16() || type.isF16() || type.isSignlessInteger(64) ||
         type.isSignlessInteger(32) || type.isSignlessInteger(1);
}

static bool hasSizeWithin(ShapedType type, int64_t mostBytes) {
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t size : type.getShape())
    if (size < 0 || llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes) || bytes > mostBytes)
      return false;
  return true;
}

bool cs336::hasRepresentableSize(ShapedType type) { return hasSizeWithin(type, kMostBytes); }

bool cs336::hasStorableSize(ShapedType type) {
  return !llvm::is_contained(type.getShape(), 0) && hasSizeWithin(type, kMostStoredBytes);
}

bool cs336::isStorable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && isElementType(tensor.getElementType()) && hasStorableSize(tensor);
}
