//===- WarpgroupAttentionKernel.h - Kernels of attention on sm_90a -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_WARPGROUPATTENTIONKERNEL_H
#define CS336_LIB_TARGET_CUDA_WARPGROUPATTENTIONKERNEL_H

#include "WarpgroupPlan.h"

#include <set>

namespace cs336::cuda {

/// A kernel of the schedule `warpgroup_attention`: one function for attention; for the gradient two functions that each
/// compute the probabilities, or three functions of which one does (WarpgroupGradientTiles).
class WarpgroupAttentionKernel : public ScheduledKernel {
public:
  WarpgroupAttentionKernel(const DeviceKernel &kernel, AttentionProblem attention, WarpgroupPlan tiles,
                           const TargetDescription &target);

  llvm::SmallVector<KernelFunction> getFunctions() const override;
  int64_t getWorkspaceBytes() const override { return workspaceBytes; }
  void collectDeviceSources(DeviceSources &sources) const override;
  std::string describe() const override;
  mlir::DictionaryAttr getParameters() const override;
  void emit(llvm::raw_ostream &os) const override;

private:
  /// A tensor map that a function takes, named for a role in lower camel case, and the rows that one copy moves.
  struct RoleMap {
    llvm::StringRef role;
    int64_t rows;
  };
  /// A function of the kernel: the template that it instantiates, a constant of it for each number that the launch was
  /// computed from, and the arguments that it passes on.
  struct Function {
    KernelFunction launch;
    std::string description, instance, check;
    llvm::SmallVector<std::string> mapNames;
    std::string arguments;
  };

  std::string getProblemName() const { return kernel.name + "_problem"; }
  std::string getWgmmaName() const { return kernel.name + "_wgmma"; }

  /// Returns whether data hides tiles.
  bool hidesTiles() const;
  /// Adds the function that writes the bits of tiles that data hides, at an offset in the workspace, and returns true,
  /// if the kernel reads such bits.
  bool addMarks(llvm::ArrayRef<TileMaskText> masks, int64_t offset);
  /// Adds the functions that write such bits at the start of the workspace and rank the tiles.
  void addRankedMarks(const TileMaskText &mask);
  void addMarks(llvm::StringRef text, llvm::ArrayRef<TileMaskText> masks, int64_t blocks, llvm::StringRef description,
                int64_t offset);
  /// Makes a function that computes tiles of the given sizes; `paddedQueries` is that of the queries' statistics.
  Function makeFunction(llvm::StringRef suffix, const WarpgroupTiles &tiles, int64_t paddedQueries);
  void addForward(const WarpgroupTiles &tiles);
  void addTwoPasses(const WarpgroupTiles &queries, const WarpgroupTiles &keys);
  void addOnePass(const WarpgroupGradientTiles &tiles);
  /// Adds tensor maps and arguments to a function, the score function among them if `takesScore`, then `bits` if they
  /// are not empty, and the function to the kernel.
  void add(Function function, llvm::ArrayRef<RoleMap> maps, llvm::ArrayRef<llvm::StringRef> pointers,
           llvm::StringRef last = "", bool takesScore = true, llvm::StringRef bits = "");
  TensorMapRecipe getMap(unsigned operand, int64_t rows) const;
  void emitFunction(llvm::raw_ostream &os, const Function &function) const;

  const DeviceKernel kernel;
  const AttentionProblem problem;
  const WarpgroupPlan plan;
  const int64_t multiprocessors;
  llvm::SmallVector<Function> functions;
  int64_t workspaceBytes = 0;
  /// Columns of results for which instructions are emitted (emitWgmma).
  std::set<int64_t> columns;
  llvm::SmallVector<int64_t, 2> leftTransposedColumns;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_WARPGROUPATTENTIONKERNEL_H
