//===- StepCounts.h - Numbers of steps --------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_STEPCOUNTS_H
#define CS336_BENCH_COMMAND_STEPCOUNTS_H

#include "llvm/ADT/ArrayRef.h"

#include "absl/status/status.h"

#include <cstdint>

namespace cs336::bench {

/// Returns INVALID_ARGUMENT if `--steps` or a value of `--warmup` is too small, or above 10^12. With this limit, the
/// sum of both numbers does not overflow.
absl::Status checkStepCounts(int64_t steps, llvm::ArrayRef<int64_t> warmups);

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_STEPCOUNTS_H
