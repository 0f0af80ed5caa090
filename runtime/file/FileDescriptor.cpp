//===- FileDescriptor.cpp - Open files and their errors -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "file/FileDescriptor.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <cerrno>
#include <system_error>

namespace cs336::runtime {

static absl::StatusCode CodeOf(int error) {
  switch (error) {
  case ENOENT:
    return absl::StatusCode::kNotFound;
  case EACCES:
  case EPERM:
  case EROFS:
    return absl::StatusCode::kPermissionDenied;
  case ENOMEM:
    return absl::StatusCode::kResourceExhausted;
  default:
    return absl::StatusCode::kUnavailable;
  }
}

absl::Status FileError(int error, absl::string_view what) {
  return absl::Status(CodeOf(error), absl::StrCat(what, ": ", std::generic_category().message(error)));
}

absl::Status CheckPath(absl::string_view path) {
  if (path.find('\0') != absl::string_view::npos)
    return absl::InvalidArgumentError(
        absl::StrCat("the path '", absl::CEscape(path), "' holds a NUL character, which a file's name cannot contain"));
  return absl::OkStatus();
}

} // namespace cs336::runtime
