//===- GemmLibraries.h - GEMMs on the CPU, per library ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CPU_GEMMLIBRARIES_H
#define CS336_RUNTIME_DEVICE_CPU_GEMMLIBRARIES_H

#include "cs336/runtime/Device.h"
#include "device/GemmProblem.h"

#include "absl/status/statusor.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace cs336::runtime {

/// Memory that prepared commands share while they execute, one at a time.
class Workspace {
public:
  void Reserve(int64_t bytes) { bytes_ = std::max(bytes_, bytes); }
  int64_t bytes() const { return bytes_; }
  void SetData(void *data) { data_ = data; }
  void *data() const { return data_; }

private:
  int64_t bytes_ = 0;
  void *data_ = nullptr;
};

/// Prepares a GEMM by oneDNN: f32 to f32, bf16 to bf16 or f32. Returns
/// UNIMPLEMENTED for GEMMs that oneDNN does not support on this processor.
/// `workspace` must outlive the command.
absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareOneDnnGemm(const GemmProblem &problem, Workspace &workspace);

/// Prepares a GEMM of f16 or bf16 to the same type or to f32, on any processor.
/// Returns UNIMPLEMENTED for other types. Bits do not depend on the number of
/// threads.
absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareNarrowGemm(const GemmProblem &problem);

/// Prepares a GEMM of f64. Bits do not depend on the number of threads.
std::unique_ptr<PreparedCommand> PrepareEigenGemm(const GemmProblem &problem);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_GEMMLIBRARIES_H
