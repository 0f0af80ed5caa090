//===- Errors.h - Statuses as Python exceptions -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_PYTHON_ERRORS_H
#define CS336_PYTHON_ERRORS_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <utility>

namespace cs336::python {

/// Throws the exception that matches the status: ValueError for invalid arguments, FloatingPointError for a NaN that a
/// run had to check, MemoryError, or RuntimeError. Requires the GIL.
[[noreturn]] void throwStatus(const absl::Status &status);

/// As throwStatus(), for a status that may also describe a file: FileNotFoundError, PermissionError, or OSError if the
/// system cannot read or write it.
[[noreturn]] void throwFileStatus(const absl::Status &status);

/// As throwStatus(), for a status that may also describe a device: RuntimeError if there is none.
[[noreturn]] void throwDeviceStatus(const absl::Status &status);

inline void throwIfError(const absl::Status &status) {
  if (!status.ok())
    throwStatus(status);
}

template <typename T>
T valueOrThrow(absl::StatusOr<T> value) {
  throwIfError(value.status());
  return *std::move(value);
}

} // namespace cs336::python

#endif // CS336_PYTHON_ERRORS_H
