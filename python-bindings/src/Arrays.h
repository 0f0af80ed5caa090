//===- Arrays.h - Tensors from and to NumPy ---------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_PYTHON_ARRAYS_H
#define CS336_PYTHON_ARRAYS_H

#include "cs336/runtime/DeviceId.h"
#include "cs336/runtime/Session.h"
#include "cs336/runtime/Tensor.h"

#include <nanobind/ndarray.h>

#include <string>

namespace cs336::python {

/// An array as Python passes it: of any type and layout, in host memory or in that of a GPU.
using InputArray = nanobind::ndarray<nanobind::ro>;
using OutputArray = nanobind::ndarray<nanobind::numpy>;
/// A tensor that other libraries take by DLPack, on any device.
using SharedArray = nanobind::ndarray<nanobind::array_api>;

/// Takes an array or a DLPack capsule of one. Throws TypeError for other values. `what` names the value in messages:
/// "input 'tokens'".
InputArray takeArray(nanobind::handle value, const std::string &what);

/// Returns a view of the elements of `array`, without a copy. Throws TypeError for element types that tensors do not
/// support.
runtime::TensorView viewOf(const InputArray &array, const std::string &what);

/// Returns the memory that holds the elements. The caller has checked that it is the host's or that of the session's
/// own GPU.
runtime::Placement placementOf(const InputArray &array);

/// Returns an array that owns a copy of the tensor. bf16 is converted to float32, because NumPy has no bf16.
OutputArray toArray(const runtime::TensorView &tensor);

/// Returns the tensor itself, in the memory of `device`. `owner` lives as long as the array.
SharedArray shareArray(const runtime::TensorView &tensor, runtime::DeviceId device, nanobind::handle owner);

} // namespace cs336::python

#endif // CS336_PYTHON_ARRAYS_H
