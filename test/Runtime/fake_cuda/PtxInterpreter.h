//===- PtxInterpreter.h - Runs kernels in PTX on the host -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_PTXINTERPRETER_H
#define CS336_TEST_RUNTIME_PTXINTERPRETER_H

#include "fake_cuda/GlobalMemory.h"
#include "fake_cuda/PtxParser.h"

#include "absl/status/status.h"

#include <cstdint>
#include <vector>

namespace cs336::runtime::testing {

/// A launch of a kernel, in one dimension.
struct PtxLaunch {
  uint32_t blocks, threads;
  uint32_t shared_bytes; // Dynamic shared memory per block.
  std::vector<uint64_t> parameters;
};

/// Runs a kernel whose threads do not wait for each other: one thread after the other, in order. Returns an error,
/// which names the thread, at the first access to memory that is outside, not aligned or too early, and for a thread
/// that does not end.
absl::Status RunPtx(const PtxProgram &program, const PtxLaunch &launch, const GlobalMemory &global);

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_PTXINTERPRETER_H
