//===- FileFormats.h - Readers and writers of tensor files ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TENSOR_FILEFORMATS_H
#define CS336_RUNTIME_TENSOR_FILEFORMATS_H

#include "cs336/runtime/TensorFile.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <string>

namespace cs336::runtime {

/// The header of a .npy file that holds `tensor`; its elements follow. The
/// type must be one that .npy has.
absl::StatusOr<std::string> NpyHeader(const Tensor &tensor);

/// Whether a .npy file is one of strings, as archives have for notes.
bool HoldsText(absl::Span<const uint8_t> npy);

/// Write a whole file of each format to `path`, in place.
absl::Status WriteNpy(const std::string &path, const TensorMap &tensors);
absl::Status WriteNpz(const std::string &path, const TensorMap &tensors);
absl::Status WriteSafetensors(const std::string &path, const TensorMap &tensors);

/// Writes the pieces one after the other to a new file at `path` and makes sure
/// that they are on disk.
absl::Status WriteBytes(const std::string &path, absl::Span<const absl::string_view> pieces);

/// A tensor's elements as bytes.
absl::string_view ElementBytes(const Tensor &tensor);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSOR_FILEFORMATS_H
