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

/// Read-only elements somewhere in memory, the host's unless it is said whose;
/// strides count elements. Does not own them.
class TensorView {
public:
  TensorView() = default;
  /// Dense, row-major elements at `data`.
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
  /// The elements of a dense view whose element type is as wide as T.
  template <typename T>
  absl::Span<const T> values() const {
    return {data_as<T>(), static_cast<size_t>(num_elements())};
  }

  /// Rows [begin, begin + rows) of dimension 0, which this view must have.
  TensorView Rows(int64_t begin, int64_t rows) const;

protected:
  TensorType type_;
  Dims strides_;
  const void *data_ = nullptr;
};

/// As TensorView, with elements that may be written.
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

/// Owns a dense, row-major tensor, aligned for any vector instruction.
class Tensor {
public:
  Tensor() = default;

  /// Zeros. RESOURCE_EXHAUSTED if there is no memory for it, INVALID_ARGUMENT
  /// if a size is negative or the whole does not fit in an int64.
  static absl::StatusOr<Tensor> Create(TensorType type);
  /// A dense copy of `view`.
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

/// Copies elements between views of one type, whatever their strides. The
/// views must not overlap unless they are the same.
absl::Status CopyElements(const TensorView &src, const MutableTensorView &dst);

/// `src` with its values converted to `dtype`, rounded to nearest even where
/// they do not fit; an i1 is whether the value is other than 0.
absl::StatusOr<Tensor> Cast(const TensorView &src, DType dtype);

/// The squares of all elements, a number each, added in float64; always in the
/// same order. INVALID_ARGUMENT for an i1.
absl::StatusOr<double> SumOfSquares(const TensorView &tensor);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSOR_H
