//===- Alignments.h - Where scratch memory on GPUs may start ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_ALIGNMENTS_H
#define CS336_RUNTIME_FORMAT_ALIGNMENTS_H

#include <cstdint>

namespace cs336::format {

/// Bytes that the offset of a launch's workspace is a multiple of: kernels
/// access it by vectors.
inline constexpr int64_t kLaunchWorkspaceAlignment = 16;

/// The same of a GEMM's workspace: cublasLtMatmul wants an address whose lowest
/// 8 bits are 0. Arenas on GPUs start at such addresses.
inline constexpr int64_t kGemmWorkspaceAlignment = 256;

} // namespace cs336::format

#endif // CS336_RUNTIME_FORMAT_ALIGNMENTS_H
