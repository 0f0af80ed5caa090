//===- DType.h - Element types of tensors -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DTYPE_H
#define CS336_RUNTIME_DTYPE_H

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

#include <cstdint>
#include <string>

namespace cs336::runtime {

/// Element types, numbered as format::DType. An i1 takes one byte, 0 or 1.
enum class DType : uint8_t { kF64, kF32, kBF16, kF16, kI64, kI32, kI1 };

/// Returns the bytes of one element.
int64_t ByteSize(DType dtype);
/// Returns the name in IR and executables, such as "f32".
absl::string_view Name(DType dtype);
absl::optional<DType> ParseDType(absl::string_view name);
/// Returns true for f64, f32, bf16 and f16.
bool IsFloat(DType dtype);

/// Sizes or strides per dimension. Does not allocate up to rank 6.
using Dims = absl::InlinedVector<int64_t, 6>;

/// Element type and sizes of a tensor. Rank 0 is a scalar.
struct TensorType {
  DType dtype = DType::kF32;
  Dims shape;

  friend bool operator==(const TensorType &, const TensorType &) = default;
};

/// Returns text such as "f32[4, 128]"; a scalar is "f32[]".
std::string ToString(const TensorType &type);

/// Returns the number of elements, or nullopt if a size is negative or the bytes
/// of such a tensor do not fit into an int64.
absl::optional<int64_t> CheckedNumElements(const TensorType &type);

/// Returns row-major strides in elements.
Dims DenseStrides(const Dims &shape);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DTYPE_H
