//===- Tensor.cpp - Host tensors and views of them ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Tensor.h"

#include "status/StatusMacros.h"
#include "tensor/StridedCopy.h"

#include "absl/strings/str_cat.h"

#include <cassert>

namespace cs336::runtime {

TensorView::TensorView(TensorType type, const void *data)
    : type_(std::move(type)), strides_(DenseStrides(type_.shape)), data_(data) {}

TensorView::TensorView(TensorType type, Dims strides, const void *data)
    : type_(std::move(type)), strides_(std::move(strides)), data_(data) {
  assert(strides_.size() == type_.shape.size());
}

int64_t TensorView::num_elements() const {
  int64_t count = 1;
  for (int64_t size : type_.shape)
    count *= size;
  return count;
}

bool TensorView::is_dense() const {
  int64_t expected = 1;
  for (size_t i = type_.shape.size(); i-- > 0;) {
    if (type_.shape[i] == 0)
      return true;
    if (type_.shape[i] != 1 && strides_[i] != expected)
      return false;
    expected *= type_.shape[i];
  }
  return true;
}

TensorView TensorView::Rows(int64_t begin, int64_t rows) const {
  assert(rank() > 0 && begin >= 0 && rows >= 0 && begin + rows <= type_.shape[0]);
  TensorView part = *this;
  part.type_.shape[0] = rows;
  part.data_ = static_cast<const char *>(data_) + begin * strides_[0] * ByteSize(dtype());
  return part;
}

MutableTensorView::MutableTensorView(TensorType type, void *data) : TensorView(std::move(type), data) {}

MutableTensorView::MutableTensorView(TensorType type, Dims strides, void *data)
    : TensorView(std::move(type), std::move(strides), data) {}

MutableTensorView MutableTensorView::Rows(int64_t begin, int64_t rows) const {
  TensorView part = TensorView::Rows(begin, rows);
  return {part.type(), part.strides(), const_cast<void *>(part.data())};
}

absl::StatusOr<Tensor> Tensor::Create(TensorType type) {
  absl::optional<int64_t> count = CheckedNumElements(type);
  if (!count)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot create a ", ToString(type), ": a size is negative, or its bytes overflow"));
  CS336_ASSIGN_OR_RETURN(Storage storage, Storage::Allocate(*count * ByteSize(type.dtype)));
  Tensor tensor;
  tensor.type_ = std::move(type);
  tensor.storage_ = std::move(storage);
  return tensor;
}

absl::StatusOr<Tensor> Tensor::CopyOf(const TensorView &view) {
  CS336_ASSIGN_OR_RETURN(Tensor tensor, Create(view.type()));
  CS336_RETURN_IF_ERROR(CopyElements(view, tensor.mutable_view()));
  return tensor;
}

absl::Status CopyElements(const TensorView &src, const MutableTensorView &dst) {
  if (src.type() != dst.type())
    return absl::InvalidArgumentError(absl::StrCat("cannot copy ", ToString(src.type()), " to ", ToString(dst.type())));
  StridedCopy copy(src.shape(), src.strides(), dst.strides(), ByteSize(src.dtype()));
  copy.Run(src.data(), dst.mutable_data(), 0, copy.runs());
  return absl::OkStatus();
}

} // namespace cs336::runtime
