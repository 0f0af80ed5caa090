//===- StoredElements.h - Element types of tensor files ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TENSOR_STOREDELEMENTS_H
#define CS336_RUNTIME_TENSOR_STOREDELEMENTS_H

#include "cs336/runtime/Tensor.h"
#include "tensor/ByteSource.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

#include <cstdint>

namespace cs336::runtime {

/// The form of an element in a file and in memory.
struct StoredElement {
  absl::string_view npy;         // "f4": type and size; empty if .npy has none.
  absl::string_view safetensors; // "F32"
  int64_t bytes;                 // In the file.
  DType dtype;                   // In memory, as wide or wider.
  bool written;                  // True for the form in which `dtype` is written.
  /// Converts elements from the file's form; null if both forms are the same.
  void (*widen)(const void *src, void *dst, int64_t count);
};

/// Converts `count` i1 elements, which may be any byte in a file, to 0 and 1,
/// as kernels require. `src` and `dst` may be the same.
void ReadBools(const void *src, void *dst, int64_t count);

/// Returns null if there is no such type, or if tensors do not support it.
const StoredElement *FindNpyElement(absl::string_view npy);
const StoredElement *FindSafetensorsElement(absl::string_view safetensors);
const StoredElement &WrittenElement(DType dtype);

/// Returns the bytes of a tensor of that shape in a file, or nullopt if they
/// overflow or a size is negative.
absl::optional<int64_t> StoredBytes(const StoredElement &element, const Dims &shape);

/// Reads the tensor whose row-major elements start at `offset` and lie within the
/// source.
absl::StatusOr<Tensor> ReadElements(const StoredElement &element, Dims shape, const ByteSource &source, int64_t offset);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSOR_STOREDELEMENTS_H
