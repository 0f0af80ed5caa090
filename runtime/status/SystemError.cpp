//===- SystemError.cpp - Errors of system calls ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "status/SystemError.h"

#include "absl/strings/str_cat.h"

#include <cerrno>

namespace cs336::runtime {

namespace {

/// An error of exhausted resources, and its remedy.
struct Exhaustion {
  int error; // errno
  const char *advice;
};

constexpr Exhaustion kExhaustions[] = {
    {EMFILE, "raise the limit of open files (ulimit -n)"},
    {ENFILE, "raise the system's limit of open files (sysctl fs.file-max)"},
    {ENOMEM, "end other programs, or use a machine with more memory"},
    {ENOBUFS, "end other programs, or use a machine with more memory"},
};

} // namespace

absl::Status SystemError(std::error_code error, absl::string_view what) {
  if (!error)
    return absl::OkStatus();
  std::string text = absl::StrCat(what, ": ", error.message());
  // asio's own category of system errors maps none of these to std::errc. The values of its other categories differ.
  for (const Exhaustion &exhaustion : kExhaustions)
    if (error.value() == exhaustion.error)
      return absl::ResourceExhaustedError(absl::StrCat(text, ": ", exhaustion.advice));
  return absl::UnavailableError(text);
}

} // namespace cs336::runtime
