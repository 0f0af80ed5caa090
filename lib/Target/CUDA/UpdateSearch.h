//===- UpdateSearch.h - Launches that update by GEMMs' results ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_UPDATESEARCH_H
#define CS336_LIB_TARGET_CUDA_UPDATESEARCH_H

#include "KernelForms.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "llvm/ADT/SetVector.h"

namespace cs336::cuda {

inline constexpr RemarkOptions fuseUpdatesRemarks("exec-fuse-updates");

/// The commands of an entry, and which of them access a storage.
class EntryCommands {
public:
  explicit EntryCommands(exec::EntryOp entry);

  llvm::ArrayRef<exec::CommandOpInterface> get() const { return commands; }
  exec::CommandOpInterface operator[](unsigned position) const { return commands[position]; }
  /// Return the positions of the commands that read or write the storage of a buffer, in ascending order.
  llvm::ArrayRef<unsigned> getReaders(mlir::Value buffer) const { return find(readers, buffer); }
  llvm::ArrayRef<unsigned> getWriters(mlir::Value buffer) const { return find(writers, buffer); }
  bool haveEvents() const;

private:
  using Positions = llvm::DenseMap<const void *, llvm::SmallVector<unsigned, 4>>;
  static llvm::ArrayRef<unsigned> find(const Positions &positions, mlir::Value buffer);

  llvm::SmallVector<exec::CommandOpInterface> commands;
  Positions readers, writers;
};

/// Erases a buffer, and the views and the storage that lead to it, as far as they have no uses.
void eraseUnused(mlir::Value buffer);

/// A GEMM whose result only the launch reads, to update a parameter, and perhaps an all-gather.
struct GradientUpdate {
  exec::GemmOp gemm;
  exec::LaunchOp launch;
  /// The all-gather of the gradient, which the kernel then stores, and the first later command that must follow it; or
  /// null.
  exec::CollectiveOp gather;
  unsigned gatherPosition = 0, gatherLimit = 0;
  /// The input of the launch that is the GEMM's result.
  unsigned gradient = 0;
  /// Positions among the entry's commands.
  unsigned gemmPosition = 0, launchPosition = 0;
  /// The update can be done after the command `first`, until the command `last`, which overwrites what the GEMM reads,
  /// exclusive.
  unsigned first = 0, last = 0;
  /// The kernel that does both, and its inputs.
  exec::KernelOp kernel;
  llvm::SmallVector<mlir::Value> inputs;
  /// The tiles of the gradient.
  int64_t tiles = 0;
};

/// Finds the updates of a module's entries, and creates the kernels that also compute the gradients.
class UpdateSearch {
public:
  /// Gradients with fewer than `leastSize` rows or columns are left out.
  UpdateSearch(KernelForms &forms, int64_t leastSize) : forms(forms), leastSize(leastSize) {}

  /// Returns the updates in the order of their GEMMs. `hoisted` receives the positions of commands that must run before
  /// all updates.
  mlir::FailureOr<std::vector<GradientUpdate>> find(const EntryCommands &commands,
                                                    llvm::SmallSetVector<unsigned, 4> &hoisted);

private:
  bool findGradient(const EntryCommands &commands, GradientUpdate &update) const;
  bool joinKernels(GradientUpdate &update);

  KernelForms &forms;
  const int64_t leastSize;
  /// The kernels that do a GEMM and a launch, by the launch's kernel, the gradient, and the GEMM's operands, with the
  /// tiles of the gradient.
  std::map<std::vector<const void *>, std::pair<exec::KernelOp, int64_t>> joined;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_UPDATESEARCH_H
