//===- GemmTuning.h - Which algorithm was the fastest -----------*- C++ -*-===//
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

/// A cuBLASLt algorithm as it is stored, which its library understands; all
/// zeros where none of the library's will do.
struct GemmChoice {
  std::array<uint64_t, 8> algorithm = {};
  double microseconds = 0; // As it was timed, for readers of the file.

  bool is_none() const { return algorithm == decltype(algorithm)(); }

  friend bool operator==(const GemmChoice &, const GemmChoice &) = default;
};

/// Choices by a text that describes the problem, kept in a file of one device
/// and library version. A file that cannot be read or written, or that other
/// users could have written, is as good as none: every problem is timed again
/// then. So is a choice that does not match its checksum, which covers its
/// problem.
///
/// Processes may share the file: each change is merged into what is there and
/// takes its place in one step.
class GemmTuning {
public:
  /// `device` and `library_version` are part of the file's name and of its
  /// contents: what was stored for others is not used. An empty `folder` keeps
  /// nothing on disk.
  GemmTuning(const std::string &folder, std::string device, int64_t library_version);

  absl::optional<GemmChoice> Find(const std::string &problem) const;
  /// Stores a choice for a problem that had none, or one that its library no
  /// longer has, and returns the one to use: where another process was first it
  /// is that one's, so that all who share the file compute the same bits.
  GemmChoice Settle(const std::string &problem, const GemmChoice &choice);

  /// Empty: memory alone.
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
