//===- CpuFeatures.h - Instruction sets of this machine ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CPU_CPUFEATURES_H
#define CS336_RUNTIME_DEVICE_CPU_CPUFEATURES_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <set>
#include <string>

namespace cs336::runtime {

/// Returns the architecture that this runtime was built for, as code objects
/// name it: "x86_64" or "aarch64".
absl::string_view HostTarget();

/// Instruction set extensions that the processor has and that the operating
/// system enables.
class CpuFeatures {
public:
  /// Reads /proc/cpuinfo. Returns an error if it cannot be read.
  static absl::StatusOr<CpuFeatures> Host();
  /// Parses the text of /proc/cpuinfo.
  static CpuFeatures Parse(absl::string_view cpuinfo);

  /// Returns true if the processor has an extension, by Linux' or LLVM's name:
  /// "avx512_bf16" and "avx512bf16" are the same.
  bool Has(absl::string_view feature) const;

private:
  std::set<std::string, std::less<>> names_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_CPUFEATURES_H
