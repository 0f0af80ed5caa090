//===- PipelineSweep.h - Small programs in several pipelines *- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_BENCH_NUMERICS_PIPELINESWEEP_H
#define CS336_LIB_BENCH_NUMERICS_PIPELINESWEEP_H

#include "cs336/Driver/Flags/CompileFlags.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// Calls `measure` with the options of each pipeline that the flags describe, as text and parsed. Returns the first
/// error.
absl::Status sweepPipelines(const CompileFlags &compile, runtime::DeviceId device,
                            llvm::function_ref<absl::Status(const CompileOptions &, const PipelineOptions &)> measure);

} // namespace cs336::bench

#endif // CS336_LIB_BENCH_NUMERICS_PIPELINESWEEP_H
