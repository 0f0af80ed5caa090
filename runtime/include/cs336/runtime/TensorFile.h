//===- TensorFile.h - .npy, .npz and .safetensors files ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formats: NumPy's .npy (versions 1 to 3) and .npz (stored or deflated), and
// safetensors (https://github.com/huggingface/safetensors#format). Integers
// narrower than i32 are widened to i32, u32 to i64; big-endian, complex and
// structured elements are rejected. .npy and .npz do not support bf16. Members of
// a .npz that contain strings are notes, not tensors, and are skipped.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TENSORFILE_H
#define CS336_RUNTIME_TENSORFILE_H

#include "cs336/runtime/Tensor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <map>
#include <string>

namespace cs336::runtime {

/// Reads all tensors of a file. The extension determines the format. A .npy file
/// holds one tensor, named as the file without folder and extension. Returns
/// NOT_FOUND or PERMISSION_DENIED if the file cannot be opened, DATA_LOSS if it
/// is truncated or malformed. Every message starts with the path.
absl::StatusOr<TensorMap> ReadTensors(absl::string_view path);

/// Texts by name that a file holds beside its tensors. Only .safetensors files
/// have notes.
using FileNotes = std::map<std::string, std::string>;

/// Reads the notes of a file; empty if its format does not have notes. Returns
/// the errors of ReadTensors.
absl::StatusOr<FileNotes> ReadNotes(absl::string_view path);

/// Writes all tensors (to a .npy file: exactly one), and the notes if the format
/// has notes. The extension determines the format. The file is written beside
/// `path` and renamed, so that `path` is never incomplete, and unchanged after an
/// error.
absl::Status WriteTensors(absl::string_view path, const TensorMap &tensors, const FileNotes &notes = {});

/// Read one format each, from bytes in memory.
absl::StatusOr<Tensor> ParseNpy(absl::Span<const uint8_t> bytes);
absl::StatusOr<TensorMap> ParseNpz(absl::Span<const uint8_t> bytes);
absl::StatusOr<TensorMap> ParseSafetensors(absl::Span<const uint8_t> bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSORFILE_H
