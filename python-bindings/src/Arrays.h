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
/// What other libraries take by DLPack, on whichever device it lies.
using SharedArray = nanobind::ndarray<nanobind::array_api>;

/// An array, or DLPack's capsule of one. Throws TypeError for other values; `what` is what the message calls the value:
/// "input 'tokens'".
InputArray takeArray(nanobind::handle value, const std::string &what);

/// The elements of `array`, where they lie. Throws TypeError for an element type that no tensor has.
runtime::TensorView viewOf(const InputArray &array, const std::string &what);

/// Where they lie. Whoever passes the array has seen to it that this is the host or the session's own GPU.
runtime::Placement placementOf(const InputArray &array);

/// An array that owns a copy of the tensor. NumPy has no bf16: it comes as float32, which holds it exactly.
OutputArray toArray(const runtime::TensorView &tensor);

/// The tensor itself, where it lies in the memory of `device`; `owner` lives as long as the array.
SharedArray shareArray(const runtime::TensorView &tensor, runtime::DeviceId device, nanobind::handle owner);

} // namespace cs336::python

#endif // CS336_PYTHON_ARRAYS_H
