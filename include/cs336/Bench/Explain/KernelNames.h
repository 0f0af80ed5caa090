//===- KernelNames.h - Kernels by name --------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_EXPLAIN_KERNELNAMES_H
#define CS336_BENCH_EXPLAIN_KERNELNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace cs336::bench {

/// Returns the names that `pattern` selects, in order: the name that equals it; else, if it has one of the characters
/// *?[, those that match it as a glob; else those that contain it. An empty pattern selects all. Returns NOT_FOUND with
/// the most similar names if it selects none, and INVALID_ARGUMENT for a glob with a syntax error.
absl::StatusOr<std::vector<std::string>> findKernels(llvm::StringRef pattern, llvm::ArrayRef<llvm::StringRef> names);

} // namespace cs336::bench

#endif // CS336_BENCH_EXPLAIN_KERNELNAMES_H
