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

/// A program that was read and verified as a whole: its indices and offsets are
/// valid and need no further checks. Immutable.
class Executable {
public:
  /// Reads a .cs336x file. Returns NOT_FOUND or PERMISSION_DENIED if it cannot
  /// be opened, or the errors of FromBytes with the path in the message.
  static absl::StatusOr<std::shared_ptr<const Executable>> Load(absl::string_view path);

  /// Reads an executable from memory. Returns DATA_LOSS if the bytes are
  /// truncated or damaged, FAILED_PRECONDITION if a newer version wrote them, and
  /// INVALID_ARGUMENT if they break a rule of Executable.fbs.
  static absl::StatusOr<std::shared_ptr<const Executable>> FromBytes(absl::Span<const uint8_t> bytes);

  /// Returns the whole description, as the schema defines it. Its pointers are
  /// not null.
  const format::ExecutableT &description() const { return description_; }

  absl::Span<const std::unique_ptr<format::EntryT>> entries() const { return description_.entries; }
  absl::Span<const std::unique_ptr<format::VariableT>> variables() const { return description_.variables; }

  /// Returns the entry of this name, or null.
  const format::EntryT *FindEntry(absl::string_view name) const;

  /// Returns true if a GPU leaves the variable in host memory, which its kernels
  /// reach over the bus. This holds for variables that only the entry "prepare"
  /// uses, for example because other entries read a derived weight instead.
  /// Always false for the CPU.
  bool StaysOnHost(size_t variable) const { return stays_on_host_[variable]; }

private:
  Executable() = default;

  format::ExecutableT description_;
  std::vector<bool> stays_on_host_; // By variable.
};

/// Convert types of the schema to types of the runtime.
TensorType ToTensorType(const format::TensorTypeT &type);
DType ToDType(format::DType dtype);

/// Returns the type of the part of a variable that each rank stores: rows
/// (dimension 0) divided by the number of shards. The whole type of a variable
/// that is not sharded.
TensorType StoredType(const format::VariableT &variable);
/// Returns the type of the storage that each rank reserves for a variable: of the whole one if it is gathered.
TensorType ReservedType(const format::VariableT &variable);

/// Returns true if a buffer lies in a variable: in this rank's part or in the storage of all parts.
bool IsOfVariable(const format::BufferT &buffer);

/// A named part of a variable or an output: the whole tensor, or a named view.
struct NamedRows {
  std::string name;
  int64_t row_offset = 0; // In dimension 0; 0 for a whole tensor.
  TensorType type;
};

/// Returns the parts that a variable has in checkpoints, or an output has for
/// callers: its named views if there are any, else the whole tensor.
std::vector<NamedRows> CheckpointNames(const std::string &name, const TensorType &type,
                                       absl::Span<const std::unique_ptr<format::ViewT>> views);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTABLE_H
