//===- Alignments.h - Alignments of workspaces on GPUs ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_ALIGNMENTS_H
#define CS336_RUNTIME_FORMAT_ALIGNMENTS_H

#include <cstdint>

namespace cs336::format {

/// The alignment of a launch's workspace in bytes: kernels access it by vectors.
inline constexpr int64_t kLaunchWorkspaceAlignment = 16;

/// The alignment of a GEMM's workspace in bytes: cublasLtMatmul requires an
/// address whose lowest 8 bits are 0. Arenas on GPUs start at such addresses.
inline constexpr int64_t kGemmWorkspaceAlignment = 256;

} // namespace cs336::format

#endif // CS336_RUNTIME_FORMAT_ALIGNMENTS_H
