//===- Layout.h - The layout of elements in memory --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_LAYOUT_H
#define CS336_RUNTIME_FORMAT_LAYOUT_H

#include "cs336/runtime/format/Executable_generated.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>
#include <string>

namespace cs336::runtime {

/// The elements of a buffer or of a kernel's operand, from an address on. The
/// buffer, operand or tensor map must outlive the layout.
struct Layout {
  explicit Layout(const format::BufferT &buffer) : dtype(buffer.dtype), shape(buffer.shape), strides(buffer.strides) {}
  explicit Layout(const format::OperandSignatureT &operand)
      : dtype(operand.dtype), shape(operand.shape), strides(operand.strides) {}
  /// The dimensions are from the innermost outwards.
  explicit Layout(const format::TensorMapT &map) : dtype(map.dtype), shape(map.sizes), strides(map.strides) {}

  format::DType dtype;
  absl::Span<const int64_t> shape, strides; // Strides in elements.

  friend bool operator==(const Layout &, const Layout &) = default;
};

/// Returns INVALID_ARGUMENT unless the element type is known, sizes are at
/// least 1, strides are not negative, and the bytes fit into an int64. The
/// functions below are for layouts that have passed this check.
absl::Status VerifyLayout(const Layout &layout);

/// Returns text such as "f32[3, 4] with strides [4, 1]".
std::string ToString(const Layout &layout);

int64_t NumElements(const Layout &layout);

/// Returns the bytes from the first element to the end of the last.
int64_t ExtentBytes(const Layout &layout);

/// Returns true if the elements are contiguous and row-major.
bool IsDense(const Layout &layout);

/// Returns true if no two elements share an address, so that they may be
/// written in parallel. Sound, and complete for nested dimensions.
bool HasDistinctElements(const Layout &layout);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_FORMAT_LAYOUT_H
