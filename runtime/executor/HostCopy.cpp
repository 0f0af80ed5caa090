//===- HostCopy.cpp - Tensors between a device and the host ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/HostCopy.h"

#include "status/StatusMacros.h"
#include "tensor/StoredElements.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cs336::runtime {

int64_t ExtentBytes(const TensorView &view) {
  int64_t last = 0;
  for (int64_t dim = 0; dim != view.rank(); ++dim) {
    if (view.shape()[dim] == 0)
      return 0;
    last += (view.shape()[dim] - 1) * view.strides()[dim];
  }
  return (last + 1) * ByteSize(view.dtype());
}

absl::Status CheckIsDense(const TensorView &value) {
  if (value.is_dense())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", ToString(value.type()), " in the device's memory is not dense and row-major, with strides [",
                   absl::StrJoin(value.strides(), ", "), "]: pass a dense copy (in PyTorch, tensor.contiguous())"));
}

absl::Status CopyToDevice(DeviceMemory &memory, const TensorView &host, const MutableTensorView &target) {
  if (host.type() != target.type())
    return absl::InvalidArgumentError(
        absl::StrCat("cannot copy ", ToString(host.type()), " to ", ToString(target.type())));
  if (host.is_dense() && host.dtype() != DType::kI1)
    return memory.CopyFromHost(target.mutable_data(), host.data(), host.num_bytes());
  CS336_ASSIGN_OR_RETURN(Tensor dense, Tensor::CopyOf(host));
  if (host.dtype() == DType::kI1)
    ReadBools(dense.data(), dense.mutable_data(), dense.num_elements());
  return memory.CopyFromHost(target.mutable_data(), dense.data(), dense.num_bytes());
}

absl::StatusOr<Tensor> CopyFromDevice(DeviceMemory &memory, const TensorView &source) {
  CS336_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(source.type()));
  CS336_RETURN_IF_ERROR(memory.CopyToHost(tensor.mutable_data(), source.data(), source.num_bytes()));
  return tensor;
}

absl::StatusOr<TensorView> ViewOnHost(DeviceMemory &memory, const TensorView &source, Storage &copy) {
  if (memory.is_host())
    return source;
  int64_t bytes = ExtentBytes(source);
  if (copy.size() < bytes) {
    CS336_ASSIGN_OR_RETURN(copy, Storage::Allocate(bytes));
  }
  CS336_RETURN_IF_ERROR(memory.CopyToHost(copy.data(), source.data(), bytes));
  return TensorView(source.type(), source.strides(), copy.data());
}

} // namespace cs336::runtime
