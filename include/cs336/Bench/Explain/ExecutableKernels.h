//===- ExecutableKernels.h - Kernels of an executable -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_EXPLAIN_EXECUTABLEKERNELS_H
#define CS336_BENCH_EXPLAIN_EXECUTABLEKERNELS_H

#include "cs336/Bench/Explain/KernelFacts.h"
#include "cs336/runtime/Executable.h"

#include "absl/status/statusor.h"

namespace cs336::bench {

/// Returns the target of an executable.
Target getTarget(const runtime::Executable &executable);

/// Describes the selected kernels of an executable, without compiling. An executable contains their text, their machine
/// code, and the work of launches, but neither IR nor the parameters of schedules. Returns DATA_LOSS if machine code
/// cannot be read.
absl::StatusOr<ExplainedProgram> explainExecutable(const runtime::Executable &executable, const DeviceModel &device,
                                                   SelectKernels select);

} // namespace cs336::bench

#endif // CS336_BENCH_EXPLAIN_EXECUTABLEKERNELS_H
