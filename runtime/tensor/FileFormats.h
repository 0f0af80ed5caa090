//===- FileFormats.h - Readers and writers of tensor files ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TENSOR_FILEFORMATS_H
#define CS336_RUNTIME_TENSOR_FILEFORMATS_H

#include "cs336/runtime/InputFile.h"
#include "cs336/runtime/TensorFile.h"
#include "tensor/ByteSource.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <string>

namespace cs336::runtime {

/// Returns the header of a .npy file for `tensor`, whose elements follow it.
/// .npy must support the type.
absl::StatusOr<std::string> NpyHeader(const Tensor &tensor);

/// Returns true if a .npy file contains strings, as notes in archives do.
bool HoldsText(const ByteSource &npy);

/// Read a whole file of each format.
absl::StatusOr<Tensor> ReadNpy(const ByteSource &source);
absl::StatusOr<TensorMap> ReadNpz(const InputFile &file);
absl::StatusOr<TensorMap> ReadSafetensors(const ByteSource &source);
absl::StatusOr<FileNotes> ReadSafetensorsNotes(const ByteSource &source);

/// Write a whole file of each format to a new file.
absl::Status WriteNpy(int descriptor, const TensorMap &tensors);
absl::Status WriteNpz(int descriptor, const TensorMap &tensors);
absl::Status WriteSafetensors(int descriptor, const TensorMap &tensors, const FileNotes &notes);

/// Returns a tensor's elements as bytes.
absl::string_view ElementBytes(const Tensor &tensor);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSOR_FILEFORMATS_H
