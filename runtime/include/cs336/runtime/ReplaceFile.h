//===- ReplaceFile.h - Files as a whole or not at all -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes every file of the compiler, the runtime and the Python package. It is
// in a library of its own, cs336_file, which links only Abseil.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_REPLACEFILE_H
#define CS336_RUNTIME_REPLACEFILE_H

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <string>

namespace cs336::runtime {

/// A new file that has not yet taken the place of another.
struct TemporaryFile {
  int descriptor; // Open for writing; ReplaceFile closes it.
  std::string path;
};

struct ReplaceFileOptions {
  /// Return only when the new contents would survive a loss of power. Without,
  /// they may be lost or incomplete after one: for files that are checked when
  /// they are read and can be made again, such as a cache's.
  bool durable = true;
};

/// Gives `path` the contents that `write` writes. Readers see the old file or
/// the whole new one, also if this process is killed; after an error, of
/// `write` or of the system, the old file is unchanged.
///
/// The contents go to a temporary file `PATH.<16 hexadecimal digits>.tmp`, which
/// is created for this call alone and then renamed. It has the permissions of
/// the old file from the start, or those of the process's umask. A symbolic
/// link is replaced, not followed. Temporary files that killed writers of
/// `path` left are removed.
///
/// INVALID_ARGUMENT if `path` cannot name a file or names something other than
/// a regular one; NOT_FOUND, PERMISSION_DENIED, or UNAVAILABLE (a full disk, for
/// example) by errno. Messages leave out the path, which the caller names.
absl::Status ReplaceFile(absl::string_view path, absl::FunctionRef<absl::Status(const TemporaryFile &)> write,
                         ReplaceFileOptions options = {});

/// As above; the contents are the pieces, one after the other.
absl::Status ReplaceFile(absl::string_view path, absl::Span<const absl::string_view> pieces,
                         ReplaceFileOptions options = {});

/// Writes all bytes at the descriptor's position.
absl::Status WriteBytes(int descriptor, absl::string_view bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_REPLACEFILE_H
