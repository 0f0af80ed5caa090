//===- DType.cpp - Element types of tensors -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/DType.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <iterator>

namespace cs336::runtime {

namespace {
struct DTypeTraits {
  absl::string_view name;
  int64_t bytes;
  bool is_float;
};
/// In the order of DType.
constexpr DTypeTraits kTraits[] = {
    {"f64", 8, true},  {"f32", 4, true},  {"bf16", 2, true}, {"f16", 2, true},
    {"i64", 8, false}, {"i32", 4, false}, {"i1", 1, false},
};

const DTypeTraits &Traits(DType dtype) { return kTraits[static_cast<size_t>(dtype)]; }
} // namespace

int64_t ByteSize(DType dtype) { return Traits(dtype).bytes; }
absl::string_view Name(DType dtype) { return Traits(dtype).name; }
bool IsFloat(DType dtype) { return Traits(dtype).is_float; }

absl::optional<DType> ParseDType(absl::string_view name) {
  for (size_t i = 0; i != std::size(kTraits); ++i)
    if (kTraits[i].name == name)
      return static_cast<DType>(i);
  return absl::nullopt;
}

std::string ToString(const TensorType &type) {
  return absl::StrCat(Name(type.dtype), "[", absl::StrJoin(type.shape, ", "), "]");
}

absl::optional<int64_t> CheckedNumElements(const TensorType &type) {
  // An empty dimension must not hide that the others overflow.
  int64_t bytes = ByteSize(type.dtype);
  bool empty = false;
  for (int64_t size : type.shape) {
    if (size < 0)
      return absl::nullopt;
    if (size == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, size, &bytes))
      return absl::nullopt;
  }
  return empty ? 0 : bytes / ByteSize(type.dtype);
}

Dims DenseStrides(const Dims &shape) {
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

} // namespace cs336::runtime
