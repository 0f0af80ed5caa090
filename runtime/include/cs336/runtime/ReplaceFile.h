//===- ReplaceFile.h - Replacing files atomically ---------------*- C++ -*-===//
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

/// A new file before it is renamed to its final path.
struct TemporaryFile {
  int descriptor; // Open for writing; ReplaceFile closes it.
  std::string path;
};

struct ReplaceFileOptions {
  /// If true, ReplaceFile returns only when the new contents would survive a loss of power. If false, the file may be
  /// lost or incomplete after a loss of power. This suits files that readers check and can recreate, such as those of a
  /// cache.
  bool durable = true;
};

/// Replaces the contents of `path` by those that `write` writes. Readers see
/// either the old file or the whole new one, even if this process is killed.
/// After an error of `write` or of the system, the old file is unchanged.
///
/// `write` gets a temporary file `PATH.<16 hexadecimal digits>.tmp`, which is
/// created for this call alone and then renamed. From the start it has the
/// permissions of the old file, or those of the process's umask. A symbolic link
/// is replaced, not followed. Temporary files that killed writers of `path` have
/// left are removed.
///
/// Returns INVALID_ARGUMENT if `path` cannot name a file or names something other
/// than a regular file; NOT_FOUND, PERMISSION_DENIED, or UNAVAILABLE (a full
/// disk, for example), depending on errno. Messages leave out the path, which
/// the caller adds.
absl::Status ReplaceFile(absl::string_view path, absl::FunctionRef<absl::Status(const TemporaryFile &)> write,
                         ReplaceFileOptions options = {});

/// Does the same with the concatenated pieces as the contents.
absl::Status ReplaceFile(absl::string_view path, absl::Span<const absl::string_view> pieces,
                         ReplaceFileOptions options = {});

/// Writes all bytes at the descriptor's current position.
absl::Status WriteBytes(int descriptor, absl::string_view bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_REPLACEFILE_H
