//===- TargetDescription.h - GPUs as schedules see them ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_TARGETDESCRIPTION_H
#define CS336_TARGET_CUDA_TARGETDESCRIPTION_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cs336::cuda {

/// Limits and instructions of the GPUs of one architecture. Schedules use them to choose their parameters.
struct TargetDescription {
  /// "sm_90a". A name with a letter at its end has instructions that only this version, or this family, has.
  llvm::StringLiteral name;
  /// The number of multiprocessors of the largest GPU of the architecture.
  int64_t multiprocessors;
  /// Static and dynamic shared memory that a block may use, in bytes.
  int64_t sharedBytesPerBlock;
  /// The number of registers of 32 bits.
  int64_t registersPerMultiprocessor;
  /// The shared memory of all blocks on a multiprocessor, in bytes, with the part that CUDA reserves per block.
  int64_t sharedBytesPerMultiprocessor;
  /// The numbers of warps and of blocks that a multiprocessor runs at the same time.
  int64_t warpsPerMultiprocessor;
  int64_t blocksPerMultiprocessor;
  /// Returns whether the tensor memory accelerator copies tiles, with barriers in shared memory.
  bool hasTensorMaps;
  /// Returns whether warpgroups multiply matrices in shared memory (`wgmma`).
  bool hasWgmma;
};

/// The limits for code that runs on every architecture from 8.0 on. The numbers of blocks were measured on an H200, and
/// suit it.
inline constexpr TargetDescription portableTarget{"portable", 132, 99 * 1024, 64 * 1024, 100 * 1024,
                                                  48,         16,  false,     false};

/// Returns the description of an architecture, such as "sm_90a", or `portableTarget` if it is not in the table.
const TargetDescription &getTarget(llvm::StringRef architecture);

/// Returns whether the name is that of an architecture from 8.0 on: "sm_80", "sm_90a", "sm_120f". The table may lack
/// it.
bool isArchitectureName(llvm::StringRef name);

/// Sets the architectures that the module's kernels are compiled for, as the attribute `exec.architectures`. Repeated
/// names count once.
void setArchitectures(mlir::ModuleOp module, llvm::ArrayRef<std::string> architectures);

/// Returns the architectures of the module; none if it has no such attribute, which stands for `portableTarget`. Fails
/// with a diagnostic if the attribute is not an array of names of architectures.
mlir::FailureOr<std::vector<std::string>> getArchitectures(mlir::ModuleOp module);

} // namespace cs336::cuda

#endif // CS336_TARGET_CUDA_TARGETDESCRIPTION_H
