//===- SystemError.h - Errors of system calls -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_STATUS_SYSTEMERROR_H
#define CS336_RUNTIME_STATUS_SYSTEMERROR_H

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <system_error>
#include <type_traits>

namespace cs336::runtime {

/// Returns the status of a system call, with `what` before the reason. If
/// descriptors or memory are exhausted, this is RESOURCE_EXHAUSTED and says what
/// to do. Other errors are UNAVAILABLE.
absl::Status SystemError(std::error_code error, absl::string_view what);

/// Returns what `work` returns, or SystemError() if it throws
/// `std::system_error`, as asio's constructors do.
template <typename Work>
std::invoke_result_t<Work> CatchSystemErrors(absl::string_view what, const Work &work) {
  try {
    return work();
  } catch (const std::system_error &error) {
    return SystemError(error.code(), what);
  }
}

} // namespace cs336::runtime

#endif // CS336_RUNTIME_STATUS_SYSTEMERROR_H
