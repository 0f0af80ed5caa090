//===- RowReductionSchedule.cpp - A warp or several blocks per row --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is the elements from which one point of the outputs is computed. Neighbouring threads read neighbouring
// elements of a row, or vectors of them, so rows should be contiguous in memory. A narrow row is computed by a warp and
// a wide one by a block. If there are too few of these to keep the device busy, several blocks share a row.
//
//===----------------------------------------------------------------------===//

#include "IterationSpace.h"
#include "ReductionKernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336::cuda;

namespace {

/// Rows narrower than this leave most of a warp idle.
constexpr int64_t minRowElements = 16;
/// The number of steps of a warp through a row above which a block computes the row, and of a block above which several
/// blocks do.
constexpr int64_t warpSteps = 8, blockSteps = 4;

enum class ReductionTeam { Warp, Block };

class RowReductionKernel : public ReductionKernel {
public:
  static std::unique_ptr<RowReductionKernel> choose(const DeviceKernel &kernel, Reduction reduction);

  std::string describe() const override;

protected:
  void emitStage(raw_ostream &os) const override;

private:
  RowReductionKernel(const DeviceKernel &kernel, Reduction reduction, VectorAxis vectors, ReductionGrid grid,
                     ReductionTeam team)
      : ReductionKernel(kernel, std::move(reduction), vectors, grid), team(team) {}

  const ReductionTeam team;
};

class RowReductionSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "row_reduction"; }

  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    FailureOr<Reduction> reduction = Reduction::read(kernel, whyNot);
    if (failed(reduction))
      return nullptr;
    if (reduction->getNumElements() < minRowElements) {
      whyNot = "reduces rows of fewer than " + std::to_string(minRowElements) + " elements";
      return nullptr;
    }
    return requireGrid(RowReductionKernel::choose(kernel, std::move(*reduction)), whyNot,
                       "has more rows than a grid has blocks");
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createRowReductionSchedule() {
  return std::make_unique<RowReductionSchedule>();
}

std::unique_ptr<RowReductionKernel> RowReductionKernel::choose(const DeviceKernel &kernel, Reduction reduction) {
  unsigned innermost = reduction.loops.end - 1;
  VectorAxis vectors{innermost, chooseVectorWidth(reduction.program, kernel, innermost)};
  int64_t rows = reduction.getNumPoints(), items = reduction.getNumElements() / vectors.width;
  bool isNarrow = items <= ReductionGrid::threadsPerWarp * warpSteps;
  if (isNarrow || rows >= ReductionGrid::blocksOfDevice * ReductionGrid::warpsPerBlock) {
    ReductionGrid grid{llvm::divideCeilSigned(rows, ReductionGrid::warpsPerBlock)};
    return std::unique_ptr<RowReductionKernel>(
        new RowReductionKernel(kernel, std::move(reduction), vectors, grid, ReductionTeam::Warp));
  }
  int64_t wanted = llvm::divideCeilSigned(ReductionGrid::blocksOfDevice, rows);
  int64_t sensible = items / (ReductionGrid::threadsPerBlock * blockSteps);
  int64_t parts = std::clamp<int64_t>(sensible, 1, wanted);
  return std::unique_ptr<RowReductionKernel>(
      new RowReductionKernel(kernel, std::move(reduction), vectors, {rows * parts, parts}, ReductionTeam::Block));
}

std::string RowReductionKernel::describe() const {
  std::string text = team == ReductionTeam::Warp ? "one warp"
                     : grid.parts == 1           ? "one block"
                                                 : std::to_string(grid.parts) + " blocks";
  return text + " per row of " + std::to_string(reduction.getNumElements()) + " elements; " +
         describePoints(reduction.program);
}

void RowReductionKernel::emitStage(raw_ostream &os) const {
  const KernelProgram &program = reduction.program;
  std::string block = indices.getBlock(), type = indices.getType().str();
  std::string begin = "threadIdx.x", step = std::to_string(grid.threadsPerBlock), combineThreads = "reduceWarp";
  if (team == ReductionTeam::Warp) {
    os << "  const " << type << " row = " << block << " * " << grid.warpsPerBlock << " + threadIdx.x / 32;\n"
       << "  if (row >= " << reduction.getNumPoints() << ")\n    return;\n";
    begin = "threadIdx.x % 32";
    step = "32";
  } else {
    combineThreads = "reduceBlock<" + std::to_string(grid.threadsPerBlock) + ">";
    if (grid.parts == 1) {
      os << "  const " << type << " row = " << block << ";\n";
    } else {
      os << "  const " << type << " row = " << block << " / " << grid.parts << ";\n"
         << "  const " << type << " part = " << block << " % " << grid.parts << ";\n";
      begin = "part * " + std::to_string(grid.threadsPerBlock) + " + threadIdx.x";
      step = std::to_string(grid.parts * grid.threadsPerBlock);
    }
  }
  indices.emitPoint(os, "  ", 0, program.getExtents(program.getPoint()), "row", 1);
  emitCombiners(os);
  emitAccumulators(os, vectors.width);
  indices.emitLoop(os, "  ", reduction.loops.begin, program.getExtents(reduction.loops), vectors.width, begin, step);
  emitLoopBody(os, "  ", vectors);
  emitResults(os, combineThreads);
  os << "  if (threadIdx.x" << (team == ReductionTeam::Warp ? " % 32" : "") << " != 0)\n    return;\n";
  emitEnd(os, "row");
}
