//===- GemmTuning.h - The fastest algorithm per GEMM ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_GEMMTUNING_H
#define CS336_RUNTIME_DEVICE_CUDA_GEMMTUNING_H

#include "absl/types/optional.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace cs336::runtime {

/// A cuBLASLt algorithm as it is stored, in the library's own encoding. All
/// zeros if none of the library's algorithms is usable.
struct GemmChoice {
  std::array<uint64_t, 8> algorithm = {};
  double microseconds = 0; // The measured time, for readers of the file.

  bool is_none() const { return algorithm == decltype(algorithm)(); }

  friend bool operator==(const GemmChoice &, const GemmChoice &) = default;
};

/// Stored choices, keyed by a text that describes the problem, in a file per
/// device and library version. If the file cannot be read or written, or if
/// other users could have written it, it is ignored and every problem is timed
/// again. A choice that does not match its checksum, which covers its problem,
/// is ignored as well.
///
/// Processes may share the file: each change is merged into the present
/// contents and replaces the file atomically.
class GemmTuning {
public:
  /// `device` and `library_version` are part of the file's name and contents;
  /// choices for others are not used. An empty `folder` stores nothing on disk.
  GemmTuning(const std::string &folder, std::string device, int64_t library_version);

  absl::optional<GemmChoice> Find(const std::string &problem) const;
  /// Stores a choice for a problem that has none, or whose choice its library
  /// no longer supports, and returns the choice to use. If another process was
  /// first, this is its choice, so that all processes that share the file
  /// compute the same bits.
  GemmChoice Settle(const std::string &problem, const GemmChoice &choice);

  /// Returns the file's path; empty if choices are kept in memory only.
  std::string path() const { return folder_.empty() ? "" : folder_ + "/" + file_name_; }

private:
  using Choices = std::map<std::string, GemmChoice, std::less<>>;
  Choices Read() const;
  void Write(const Choices &choices) const;

  std::string device_;
  int64_t library_version_;
  std::string folder_, file_name_;
  Choices choices_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_GEMMTUNING_H
