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

/// Returns the names that `pattern` selects, in order. If a name equals the pattern, it selects this name only.
/// Otherwise, if the pattern has one of the characters *?[, it selects the names that match it as a glob. Otherwise it
/// selects the names that contain it. An empty pattern selects all names. Returns NOT_FOUND with the most similar names
/// if the pattern selects none, and INVALID_ARGUMENT for a glob with a syntax error.
absl::StatusOr<std::vector<std::string>> findKernels(llvm::StringRef pattern, llvm::ArrayRef<llvm::StringRef> names);

} // namespace cs336::bench

#endif // CS336_BENCH_EXPLAIN_KERNELNAMES_H
