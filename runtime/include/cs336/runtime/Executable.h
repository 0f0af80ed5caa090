//===- Executable.h - A verified program ------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_EXECUTABLE_H
#define CS336_RUNTIME_EXECUTABLE_H

#include "cs336/runtime/DType.h"
#include "cs336/runtime/format/Executable_generated.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

/// A program that was read and checked as a whole: whoever holds one may
/// follow its indices and offsets without checking again. Immutable.
class Executable {
public:
  /// Reads a .cs336x file. NOT_FOUND or PERMISSION_DENIED if it cannot be
  /// opened; otherwise as FromBytes, with the path in the message.
  static absl::StatusOr<std::shared_ptr<const Executable>> Load(absl::string_view path);

  /// DATA_LOSS if the bytes are truncated or damaged, FAILED_PRECONDITION if a
  /// newer version wrote them, INVALID_ARGUMENT if they break a rule of
  /// Executable.fbs.
  static absl::StatusOr<std::shared_ptr<const Executable>> FromBytes(absl::Span<const uint8_t> bytes);

  /// The whole description, as the schema defines it. No pointer in it is
  /// null.
  const format::ExecutableT &description() const { return description_; }

  absl::Span<const std::unique_ptr<format::EntryT>> entries() const { return description_.entries; }
  absl::Span<const std::unique_ptr<format::VariableT>> variables() const { return description_.variables; }

  /// Null if there is none of that name.
  const format::EntryT *FindEntry(absl::string_view name) const;

  /// Whether a GPU leaves the variable in host memory, which its kernels reach
  /// over the bus: no entry but "prepare" uses it, as when others read a
  /// low-precision shadow instead. Always false for the CPU.
  bool StaysOnHost(size_t variable) const { return stays_on_host_[variable]; }

private:
  Executable() = default;

  format::ExecutableT description_;
  std::vector<bool> stays_on_host_; // By variable.
};

/// The schema's types as the runtime's.
TensorType ToTensorType(const format::TensorTypeT &type);
DType ToDType(format::DType dtype);

/// A named piece of a variable or an output: the whole, or one of its views.
struct NamedRows {
  std::string name;
  int64_t row_offset = 0; // In dimension 0; 0 for a whole tensor.
  TensorType type;
};

/// The names under which checkpoints know a variable, or callers an output:
/// its views if it has any, itself otherwise.
std::vector<NamedRows> CheckpointNames(const std::string &name, const TensorType &type,
                                       absl::Span<const std::unique_ptr<format::ViewT>> views);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTABLE_H
