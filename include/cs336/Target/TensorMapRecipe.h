//===- TensorMapRecipe.h - Tensors copied in boxes --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_TENSORMAPRECIPE_H
#define CS336_TARGET_TENSORMAPRECIPE_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace cs336 {

/// A recipe for a tensor map: a tensor in global memory, of which the tensor memory accelerator of a GPU copies boxes
/// to and from shared memory. The runtime encodes it with the operand's address. Dimensions are from the innermost
/// outwards, 1 to 5. Elements of a box outside of the tensor are read as zeros and not written.
///
/// The rules are those of cuTensorMapEncodeTiled; loading an executable checks them (runtime/format/Executable.fbs).
/// All elements of the tensor must be within the operand.
struct TensorMapRecipe {
  /// The span of shared memory in which the order of 16-byte pieces changes, against bank conflicts.
  enum class Swizzle { None, Bytes32, Bytes64, Bytes128 };
  /// The bytes that the L2 cache reads from memory at once.
  enum class L2Promotion { None, Bytes64, Bytes128, Bytes256 };

  /// The position among the function's parameters: inputs, outputs, workspace.
  unsigned operand;
  /// From the operand's element 0 to the tensor's, in elements; a multiple of 16 bytes.
  int64_t offset = 0;
  mlir::Type elementType;
  /// At most 2^32 elements per dimension.
  llvm::SmallVector<int64_t, 5> sizes;
  /// In elements. The first is 1; the others are multiples of 16 bytes below 2^40 bytes.
  llvm::SmallVector<int64_t, 5> strides;
  /// The elements that one copy moves, at most 256 per dimension. The first dimension has a multiple of 16 bytes, and
  /// at most the swizzle's span.
  llvm::SmallVector<int64_t, 5> box;
  Swizzle swizzle = Swizzle::None;
  L2Promotion promotion = L2Promotion::None;

  friend bool operator==(const TensorMapRecipe &, const TensorMapRecipe &) = default;
};

} // namespace cs336

#endif // CS336_TARGET_TENSORMAPRECIPE_H
