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

/// The architecture this runtime was built for, as code objects name theirs:
/// "x86_64" or "aarch64".
absl::string_view HostTarget();

/// Instruction set extensions that the processor has and the kernel lets
/// programs use.
class CpuFeatures {
public:
  /// An error if /proc/cpuinfo cannot be read.
  static absl::StatusOr<CpuFeatures> Host();
  /// From the text of /proc/cpuinfo.
  static CpuFeatures Parse(absl::string_view cpuinfo);

  /// Takes Linux' names and LLVM's: "avx512_bf16" and "avx512bf16" are one.
  bool Has(absl::string_view feature) const;

private:
  std::set<std::string, std::less<>> names_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_CPUFEATURES_H
