//===- SafetensorsHeader.h - Headers of .safetensors files ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TENSOR_SAFETENSORSHEADER_H
#define CS336_RUNTIME_TENSOR_SAFETENSORSHEADER_H

#include "cs336/runtime/Tensor.h"
#include "cs336/runtime/TensorFile.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>
#include <utility>
#include <vector>

namespace cs336::runtime {

/// The entry of one tensor.
struct SafetensorsEntry {
  std::string dtype = {}; // "F32"
  Dims shape = {};
  Dims data_offsets = {}; // First byte and end, from the end of the header on.
  /// An error if the entry is not one of a tensor; its values are then unspecified.
  absl::Status status = {};
};

struct SafetensorsHeader {
  /// The strings of "__metadata__".
  FileNotes notes = {};
  /// In the order of the file.
  std::vector<std::pair<std::string, SafetensorsEntry>> entries = {};
};

/// Returns DATA_LOSS with that description.
absl::Status MalformedSafetensors(absl::string_view what);

/// Reads a header, a JSON object. Returns DATA_LOSS if it is not one, or has a
/// key twice. An entry that is not one of a tensor has an error as its status.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view text);

/// Returns a header as JSON without line breaks. Bytes of names that are not
/// UTF-8 are replaced by U+FFFD. Returns INVALID_ARGUMENT if a tensor has the
/// name of the metadata.
absl::StatusOr<std::string> PrintSafetensorsHeader(const SafetensorsHeader &header);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSOR_SAFETENSORSHEADER_H
