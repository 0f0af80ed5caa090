//===- Tensor.h - Host tensors and views of them ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TENSOR_H
#define CS336_RUNTIME_TENSOR_H

#include "cs336/runtime/DType.h"
#include "cs336/runtime/Storage.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <map>
#include <string>

namespace cs336::runtime {

/// Read-only elements in memory: host memory, unless a function documents
/// otherwise. Strides are in elements. Does not own the elements.
class TensorView {
public:
  TensorView() = default;
  /// Creates a view of dense, row-major elements at `data`.
  TensorView(TensorType type, const void *data);
  TensorView(TensorType type, Dims strides, const void *data);

  const TensorType &type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Dims &shape() const { return type_.shape; }
  const Dims &strides() const { return strides_; }
  int64_t rank() const { return static_cast<int64_t>(type_.shape.size()); }
  int64_t num_elements() const;
  int64_t num_bytes() const { return num_elements() * ByteSize(dtype()); }
  bool is_dense() const;

  const void *data() const { return data_; }
  template <typename T>
  const T *data_as() const {
    return static_cast<const T *>(data_);
  }
  /// Returns the elements of a dense view whose element type is as wide as T.
  template <typename T>
  absl::Span<const T> values() const {
    return {data_as<T>(), static_cast<size_t>(num_elements())};
  }

  /// Returns rows [begin, begin + rows) of dimension 0, which must exist.
  TensorView Rows(int64_t begin, int64_t rows) const;

protected:
  TensorType type_;
  Dims strides_;
  const void *data_ = nullptr;
};

/// A TensorView whose elements may be written.
class MutableTensorView : public TensorView {
public:
  MutableTensorView() = default;
  MutableTensorView(TensorType type, void *data);
  MutableTensorView(TensorType type, Dims strides, void *data);

  void *mutable_data() const { return const_cast<void *>(data_); }
  template <typename T>
  T *mutable_data_as() const {
    return static_cast<T *>(mutable_data());
  }
  MutableTensorView Rows(int64_t begin, int64_t rows) const;
};

/// Owns a dense, row-major tensor that is aligned for every vector instruction.
class Tensor {
public:
  Tensor() = default;

  /// Creates a tensor of zeros. Returns RESOURCE_EXHAUSTED if there is not enough
  /// memory, INVALID_ARGUMENT if a size is negative or the bytes do not fit into
  /// an int64.
  static absl::StatusOr<Tensor> Create(TensorType type);
  /// Creates a dense copy of `view`.
  static absl::StatusOr<Tensor> CopyOf(const TensorView &view);

  TensorView view() const { return {type_, storage_.data()}; }
  MutableTensorView mutable_view() { return {type_, storage_.data()}; }
  operator TensorView() const { return view(); }

  const TensorType &type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Dims &shape() const { return type_.shape; }
  int64_t num_elements() const { return view().num_elements(); }
  int64_t num_bytes() const { return view().num_bytes(); }
  const void *data() const { return storage_.data(); }
  void *mutable_data() { return storage_.data(); }
  template <typename T>
  absl::Span<const T> values() const {
    return {static_cast<const T *>(data()), static_cast<size_t>(num_elements())};
  }
  template <typename T>
  absl::Span<T> mutable_values() {
    return {static_cast<T *>(mutable_data()), static_cast<size_t>(num_elements())};
  }

private:
  TensorType type_;
  Storage storage_;
};

/// Tensors by name, in the order of names.
using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// Copies elements between views of the same type and of any strides. The views
/// must not overlap, unless they are the same.
absl::Status CopyElements(const TensorView &src, const MutableTensorView &dst);

/// Returns `src` converted to `dtype`, rounded to nearest even. An i1 is true for
/// values other than 0.
absl::StatusOr<Tensor> Cast(const TensorView &src, DType dtype);

/// Returns the sum of the squares of all elements, computed in float64 and always
/// in the same order. Returns INVALID_ARGUMENT for an i1.
absl::StatusOr<double> SumOfSquares(const TensorView &tensor);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSOR_H
