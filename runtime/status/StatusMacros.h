//===- StatusMacros.h - Propagating errors ----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_STATUS_STATUSMACROS_H
#define CS336_RUNTIME_STATUS_STATUSMACROS_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <utility>

namespace cs336::runtime {

/// Returns `status` with `where` before its message. Returns an OK status
/// unchanged.
inline absl::Status Annotate(const absl::Status &status, absl::string_view where) {
  if (status.ok())
    return status;
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

} // namespace cs336::runtime

#define CS336_RETURN_IF_ERROR(expression)                                                                              \
  do {                                                                                                                 \
    if (absl::Status status_ = (expression); !status_.ok())                                                            \
      return status_;                                                                                                  \
  } while (false)

#define CS336_CONCAT_IMPL(a, b) a##b
#define CS336_CONCAT(a, b) CS336_CONCAT_IMPL(a, b)

/// CS336_ASSIGN_OR_RETURN(declaration, StatusOr expression).
#define CS336_ASSIGN_OR_RETURN(declaration, expression)                                                                \
  CS336_ASSIGN_OR_RETURN_IMPL(CS336_CONCAT(status_or_, __LINE__), declaration, expression)
#define CS336_ASSIGN_OR_RETURN_IMPL(result, declaration, expression)                                                   \
  auto result = (expression);                                                                                          \
  if (!result.ok())                                                                                                    \
    return std::move(result).status();                                                                                 \
  declaration = *std::move(result)

#endif // CS336_RUNTIME_STATUS_STATUSMACROS_H
