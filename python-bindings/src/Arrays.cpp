//===- Arrays.cpp - Tensors from and to NumPy -----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"

#include "Errors.h"

#include <memory>
#include <optional>
#include <vector>

namespace nb = nanobind;
using namespace cs336;
using namespace cs336::python;
using runtime::DType;

static std::optional<DType> toDType(nb::dlpack::dtype type) {
  if (type == nb::dtype<double>())
    return DType::kF64;
  if (type == nb::dtype<float>())
    return DType::kF32;
  if (type == nb::dtype<int64_t>())
    return DType::kI64;
  if (type == nb::dtype<int32_t>())
    return DType::kI32;
  if (type == nb::dtype<bool>())
    return DType::kI1;
  if (type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Float) && type.bits == 16 && type.lanes == 1)
    return DType::kF16;
  if (type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat) && type.bits == 16 && type.lanes == 1)
    return DType::kBF16;
  return std::nullopt;
}

static nb::dlpack::dtype toDLPack(DType type) {
  switch (type) {
  case DType::kF64:
    return nb::dtype<double>();
  case DType::kF32:
    return nb::dtype<float>();
  case DType::kBF16:
    return {static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1};
  case DType::kF16:
    return {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
  case DType::kI64:
    return nb::dtype<int64_t>();
  case DType::kI32:
    return nb::dtype<int32_t>();
  case DType::kI1:
    return nb::dtype<bool>();
  }
  throw nb::type_error("a tensor of unknown element type");
}

InputArray python::takeArray(nb::handle value, const std::string &what) {
  InputArray array;
  if (!nb::try_cast(value, array))
    throw nb::type_error((what + " is neither an array nor a readable DLPack capsule").c_str());
  return array;
}

runtime::TensorView python::viewOf(const InputArray &array, const std::string &what) {
  std::optional<DType> dtype = toDType(array.dtype());
  if (!dtype)
    throw nb::type_error((what + ": arrays must be float64, float32, float16, bfloat16, int64, int32 or bool").c_str());
  runtime::TensorType type{*dtype, {}};
  runtime::Dims strides;
  for (size_t axis = 0; axis < array.ndim(); ++axis) {
    type.shape.push_back(static_cast<int64_t>(array.shape(axis)));
    strides.push_back(array.stride(axis));
  }
  return {type, strides, array.data()};
}

runtime::Placement python::placementOf(const InputArray &array) {
  return array.device_type() == nb::device::cpu::value ? runtime::Placement::kHost : runtime::Placement::kDevice;
}

OutputArray python::toArray(const runtime::TensorView &tensor) {
  auto copy = std::make_unique<runtime::Tensor>(valueOrThrow(
      tensor.dtype() == DType::kBF16 ? runtime::Cast(tensor, DType::kF32) : runtime::Tensor::CopyOf(tensor)));
  std::vector<size_t> shape(copy->shape().begin(), copy->shape().end());
  void *data = copy->mutable_data();
  nb::dlpack::dtype dtype = toDLPack(copy->dtype());
  nb::capsule owner(copy.release(), [](void *tensor) noexcept { delete static_cast<runtime::Tensor *>(tensor); });
  return {data, shape.size(), shape.data(), owner, /*strides=*/nullptr, dtype};
}

SharedArray python::shareArray(const runtime::TensorView &tensor, runtime::DeviceId device, nb::handle owner) {
  std::vector<size_t> shape(tensor.shape().begin(), tensor.shape().end());
  std::vector<int64_t> strides(tensor.strides().begin(), tensor.strides().end());
  int kind = device.kind == runtime::DeviceKind::kCuda ? nb::device::cuda::value : nb::device::cpu::value;
  return {const_cast<void *>(tensor.data()), shape.size(), shape.data(),  owner, strides.data(),
          toDLPack(tensor.dtype()),          kind,         device.ordinal};
}
