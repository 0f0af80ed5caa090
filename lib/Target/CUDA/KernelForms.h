//===- KernelForms.h - Computations independent of shapes -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_KERNELFORMS_H
#define CS336_LIB_TARGET_CUDA_KERNELFORMS_H

#include "FlatProgram.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"

#include <map>

namespace cs336::cuda {

/// The computation of a kernel, independent of shapes.
struct KernelForm {
  /// Kernels of one number do the same computation on their operands.
  unsigned number;
  /// For each input: true if it is one element that all threads read.
  llvm::SmallVector<bool> isScalar;
};

/// Reads the form of each kernel once.
class KernelForms {
public:
  explicit KernelForms(mlir::ModuleOp module)
      : module(module), symbols(module), linalgForms(mlir::ModuleOp::create(module.getLoc())) {}

  /// Returns null for kernels that cannot be batched.
  mlir::FailureOr<const KernelForm *> find(exec::LaunchOp launch);
  exec::KernelOp getKernel(exec::LaunchOp launch) const { return symbols.lookup<exec::KernelOp>(launch.getKernel()); }
  mlir::SymbolTable &getSymbols() { return symbols; }

  /// Inserts a kernel before all entries, because kernels precede their launches. If there is one of this name already,
  /// which has the same contents, erases the new one. Returns the kernel of the module.
  exec::KernelOp insert(exec::KernelOp kernel);
  /// Erases those of the kernels that no command launches.
  void eraseUnlaunched(llvm::ArrayRef<exec::KernelOp> kernels);

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  mlir::OwningOpRef<mlir::ModuleOp> linalgForms;
  llvm::DenseMap<mlir::StringAttr, std::unique_ptr<KernelForm>> forms;
  /// By the form of the flat program, the number of inputs and the order of the operands.
  std::map<std::vector<const void *>, unsigned> numbers;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_KERNELFORMS_H
