//===- VisibleKeys.h - Which keys an attention mask shows -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_VISIBLEKEYS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_VISIBLEKEYS_H

#include "../ScaleAndMask.h"
#include "llvm/ADT/BitVector.h"

namespace cs336 {

/// A mask that depends on i − j alone, for query i and key j: bit i − j + (keys − 1) is set if query i sees key j.
class VisibleKeys {
public:
  /// Returns whether every query sees all keys.
  VisibleKeys(int64_t queries, int64_t keys) : keys(keys), bits(queries + keys - 1, true) {}

  bool areAll() const { return bits.all(); }
  /// Returns whether query i sees exactly the keys j ≤ i.
  bool areCausal() const;

  /// Returns the first and the last distance i − j at which keys are visible, or nullopt if keys in between are hidden
  /// or none is visible.
  std::optional<std::pair<int64_t, int64_t>> getRange() const;

  /// Hides the keys that the mask's selector hides. The selector has the last axes of scores [..., queries, keys].
  /// Returns false if its values are unknown, or do not depend on i − j alone.
  bool hide(const Masking &masking);

private:
  int64_t keys;
  llvm::BitVector bits;
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_VISIBLEKEYS_H
