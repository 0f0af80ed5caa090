//===- Errors.cpp - Statuses as Python exceptions -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Errors.h"

#include <nanobind/nanobind.h>

#include <string>

namespace nb = nanobind;
using namespace cs336::python;

[[noreturn]] static void throwPython(PyObject *type, const absl::Status &status) {
  // A message can quote any bytes, also a NUL, where a C string would end, and bytes that are not UTF-8.
  absl::string_view text = status.message();
  nb::object message = nb::steal(PyUnicode_DecodeUTF8(text.data(), text.size(), "backslashreplace"));
  if (message.is_valid())
    PyErr_SetObject(type, message.ptr());
  throw nb::python_error();
}

void cs336::python::throwStatus(const absl::Status &status) {
  switch (status.code()) {
  case absl::StatusCode::kInvalidArgument:
  case absl::StatusCode::kNotFound:
  case absl::StatusCode::kDataLoss:
    throwPython(PyExc_ValueError, status);
  case absl::StatusCode::kOutOfRange:
    throwPython(PyExc_FloatingPointError, status);
  case absl::StatusCode::kResourceExhausted:
    throwPython(PyExc_MemoryError, status);
  default:
    throwPython(PyExc_RuntimeError, status);
  }
}

void cs336::python::throwDeviceStatus(const absl::Status &status) {
  if (status.code() == absl::StatusCode::kNotFound)
    throwPython(PyExc_RuntimeError, status);
  throwStatus(status);
}

void cs336::python::throwFileStatus(const absl::Status &status) {
  switch (status.code()) {
  case absl::StatusCode::kNotFound:
    throwPython(PyExc_FileNotFoundError, status);
  case absl::StatusCode::kPermissionDenied:
    throwPython(PyExc_PermissionError, status);
  case absl::StatusCode::kUnavailable:
    throwPython(PyExc_OSError, status);
  default:
    throwStatus(status);
  }
}
