//===- StoredElements.cpp - Element types of tensor files -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tensor/StoredElements.h"

#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace cs336::runtime {

namespace {

/// Copies elements, because the bytes of a file have any alignment.
template <typename From, typename To>
void Widen(const void *src, void *dst, int64_t count) {
  const char *from = static_cast<const char *>(src);
  To *to = static_cast<To *>(dst);
  for (int64_t i = 0; i != count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    to[i] = static_cast<To>(value);
  }
}

constexpr StoredElement kElements[] = {
    {"f8", "F64", 8, DType::kF64, true, nullptr},
    {"f4", "F32", 4, DType::kF32, true, nullptr},
    {"", "BF16", 2, DType::kBF16, true, nullptr},
    {"f2", "F16", 2, DType::kF16, true, nullptr},
    {"i8", "I64", 8, DType::kI64, true, nullptr},
    {"i4", "I32", 4, DType::kI32, true, nullptr},
    {"b1", "BOOL", 1, DType::kI1, true, ReadBools},
    {"u4", "U32", 4, DType::kI64, false, Widen<uint32_t, int64_t>},
    {"i2", "I16", 2, DType::kI32, false, Widen<int16_t, int32_t>},
    {"u2", "U16", 2, DType::kI32, false, Widen<uint16_t, int32_t>},
    {"i1", "I8", 1, DType::kI32, false, Widen<int8_t, int32_t>},
    {"u1", "U8", 1, DType::kI32, false, Widen<uint8_t, int32_t>},
};

} // namespace

void ReadBools(const void *src, void *dst, int64_t count) {
  const uint8_t *from = static_cast<const uint8_t *>(src);
  uint8_t *to = static_cast<uint8_t *>(dst);
  for (int64_t i = 0; i != count; ++i)
    to[i] = from[i] != 0;
}

const StoredElement *FindNpyElement(absl::string_view npy) {
  for (const StoredElement &element : kElements)
    if (!npy.empty() && element.npy == npy)
      return &element;
  return nullptr;
}

const StoredElement *FindSafetensorsElement(absl::string_view safetensors) {
  for (const StoredElement &element : kElements)
    if (element.safetensors == safetensors)
      return &element;
  return nullptr;
}

const StoredElement &WrittenElement(DType dtype) {
  const StoredElement *element = kElements;
  while (!(element->written && element->dtype == dtype))
    ++element;
  return *element;
}

absl::optional<int64_t> StoredBytes(const StoredElement &element, const Dims &shape) {
  // If the bytes in memory do not overflow, neither do those in the file, whose
  // elements are at most as wide.
  absl::optional<int64_t> count = CheckedNumElements({element.dtype, shape});
  if (!count)
    return absl::nullopt;
  return *count * element.bytes;
}

absl::StatusOr<Tensor> ReadElements(const StoredElement &element, Dims shape, const ByteSource &source,
                                    int64_t offset) {
  CS336_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create({element.dtype, std::move(shape)}));
  if (!element.widen) {
    CS336_RETURN_IF_ERROR(source.Read(offset, tensor.num_bytes(), tensor.mutable_data()));
    return tensor;
  }
  constexpr int64_t kElementsAtOnce = 1 << 16;
  std::vector<char> stored(std::min(tensor.num_elements(), kElementsAtOnce) * element.bytes);
  char *to = static_cast<char *>(tensor.mutable_data());
  for (int64_t begin = 0; begin < tensor.num_elements(); begin += kElementsAtOnce) {
    int64_t count = std::min(tensor.num_elements() - begin, kElementsAtOnce);
    CS336_RETURN_IF_ERROR(source.Read(offset + begin * element.bytes, count * element.bytes, stored.data()));
    element.widen(stored.data(), to + begin * ByteSize(element.dtype), count);
  }
  return tensor;
}

} // namespace cs336::runtime
