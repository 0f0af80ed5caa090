//===- KernelSignatures.h - What kernels' code assumes of launches -*- C++ -*-===//
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
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <set>

namespace cs336 {

/// Describes kernels of a module for the runtime, which checks every launch of an executable against it. Kernels are
/// compiled for the launches of their module, so an output may be written over those inputs only for which one of these
/// launches does so.
class KernelSignatures {
public:
  explicit KernelSignatures(mlir::ModuleOp module);

  std::unique_ptr<format::SignatureT> describe(exec::KernelOp kernel, const CompiledKernel &compiled) const;

private:
  /// By kernel: pairs of an output and an input that one launch gives the same buffer.
  llvm::StringMap<std::set<std::pair<unsigned, unsigned>>> writtenOver;
};

} // namespace cs336

#endif // CS336_TARGET_EXECUTABLE_KERNELSIGNATURES_H
