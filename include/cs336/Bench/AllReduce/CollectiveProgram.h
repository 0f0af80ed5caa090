//===- CollectiveProgram.h - Programs of collectives ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ALLREDUCE_COLLECTIVEPROGRAM_H
#define CS336_BENCH_ALLREDUCE_COLLECTIVEPROGRAM_H

#include "cs336/Bench/AllReduce/Collective.h"
#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/runtime/Executable.h"
#include "llvm/ADT/ArrayRef.h"

#include "absl/status/statusor.h"

#include <memory>
#include <string>

namespace cs336::bench {

/// Names of case number i in its program: its variables, and its entries, which run it once and `chain` times.
std::string getSourceName(size_t i);
/// Returns the name of the variable with the result. In-place collectives write the result to the source.
std::string getTargetName(const CollectiveCase &one, size_t i);
std::string getCheckEntry(size_t i);
std::string getTimeEntry(size_t i);

/// Returns the IR of a program in the exec dialect with two entries per case, on variables that stay in the device's
/// memory. In place, each collective of a chain reads the result of the one before it.
std::string printCollectiveProgram(llvm::ArrayRef<CollectiveCase> cases, llvm::ArrayRef<int64_t> chains, int ranks);

/// Compiles the program for the target.
absl::StatusOr<std::shared_ptr<const runtime::Executable>>
compileCollectives(llvm::ArrayRef<CollectiveCase> cases, llvm::ArrayRef<int64_t> chains, int ranks, Target target);

} // namespace cs336::bench

#endif // CS336_BENCH_ALLREDUCE_COLLECTIVEPROGRAM_H
