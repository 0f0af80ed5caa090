//===- KernelSignatures.h - Requirements of kernels' code on launches -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_EXECUTABLE_KERNELSIGNATURES_H
#define CS336_TARGET_EXECUTABLE_KERNELSIGNATURES_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CompiledKernels.h"
#include "cs336/runtime/format/Executable_generated.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace cs336 {

/// Describes kernels of a module for the runtime, which compares every launch of an executable with the description.
/// Kernels are compiled for the launches of their module: an output may be written over an input only if one of these
/// launches does so, and integers must be in the ranges that they have in one of these launches.
class KernelSignatures {
public:
  /// The module's entries must be verified.
  explicit KernelSignatures(mlir::ModuleOp module);

  std::unique_ptr<format::SignatureT> describe(exec::KernelOp kernel, const CompiledKernel &compiled) const;

  /// Returns the position of the launch's ranges in the signature of its kernel.
  uint32_t getVariant(exec::LaunchOp launch) const { return variants.lookup(launch); }

private:
  /// The smallest and the largest integer of each operand, if they are known.
  using Ranges = std::vector<std::optional<std::pair<int64_t, int64_t>>>;

  void addRanges(exec::LaunchOp launch, mlir::ArrayRef<mlir::IntegerValueRange> operands);
  void describeRanges(exec::KernelOp kernel, format::SignatureT &signature) const;

  /// For each kernel: pairs of an output and an input that have the same buffer in one launch.
  llvm::StringMap<std::set<std::pair<unsigned, unsigned>>> writtenOver;
  /// Per kernel: the different ranges of its launches, with their positions.
  llvm::StringMap<std::map<Ranges, uint32_t>> ranges;
  llvm::DenseMap<exec::LaunchOp, uint32_t> variants;
};

} // namespace cs336

#endif // CS336_TARGET_EXECUTABLE_KERNELSIGNATURES_H
