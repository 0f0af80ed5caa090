//===- ColumnReductionSchedule.cpp - Neighbouring columns side by side ----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts reductions whose terms are not contiguous while neighbouring points are: neighbouring threads compute
// neighbouring points, or vectors of them. The threads of a block form rows and columns: each iterates down its columns
// in steps of the number of rows, and the first row of threads combines the partial results. If there are too few
// columns to keep the device busy, several blocks share them.
//
//===----------------------------------------------------------------------===//

#include "IterationSpace.h"
#include "ReductionKernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336::cuda;

namespace {

/// Shorter columns are faster with one thread each.
constexpr int64_t minColumnElements = 16;
/// Steps of a thread down a column before several blocks share it.
constexpr int64_t threadSteps = 4;

class ColumnReductionKernel : public ReductionKernel {
public:
  static std::unique_ptr<ColumnReductionKernel> choose(const DeviceKernel &kernel, Reduction reduction);

  std::string describe() const override;

protected:
  void emitStage(raw_ostream &os) const override;

private:
  /// The number of threads side by side, and of blocks that cover the innermost dimension of a point.
  struct Columns {
    int64_t threads, blocks;
  };
  ColumnReductionKernel(const DeviceKernel &kernel, Reduction reduction, VectorAxis vectors, ReductionGrid grid,
                        Columns columns)
      : ReductionKernel(kernel, std::move(reduction), vectors, grid), columns(columns) {}

  int64_t getRows() const { return grid.threadsPerBlock / columns.threads; }

  const Columns columns;
};

class ColumnReductionSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "column_reduction"; }

  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    FailureOr<Reduction> reduction = Reduction::read(kernel, whyNot);
    if (failed(reduction))
      return nullptr;
    const LoopNest &point = reduction->program.getPoint();
    if (reduction->getNumElements() < minColumnElements) {
      whyNot = "reduces columns of fewer than " + std::to_string(minColumnElements) + " elements";
      return nullptr;
    }
    if (point.getNumDims() == 0 || !isContiguousAlong(reduction->program, point.end - 1) ||
        isContiguousAlong(reduction->program, reduction->loops.end - 1)) {
      whyNot = "does not read neighbouring elements for neighbouring results";
      return nullptr;
    }
    return requireGrid(ColumnReductionKernel::choose(kernel, std::move(*reduction)), whyNot);
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createColumnReductionSchedule() {
  return std::make_unique<ColumnReductionSchedule>();
}

std::unique_ptr<ColumnReductionKernel> ColumnReductionKernel::choose(const DeviceKernel &kernel, Reduction reduction) {
  unsigned innermost = reduction.program.getPoint().end - 1;
  VectorAxis vectors{innermost, chooseVectorWidth(reduction.program, kernel, innermost)};
  int64_t items = reduction.program.extents[innermost] / vectors.width;
  int64_t threads = std::min<int64_t>(llvm::PowerOf2Ceil(items), ReductionGrid::threadsPerWarp);
  Columns columns{threads, llvm::divideCeilSigned(items, threads)};
  int64_t blocks = reduction.getNumPoints() / reduction.program.extents[innermost] * columns.blocks;

  int64_t wanted = llvm::divideCeilSigned(ReductionGrid::blocksOfDevice, blocks);
  int64_t rows = ReductionGrid::threadsPerBlock / threads;
  int64_t parts = std::clamp<int64_t>(reduction.getNumElements() / (rows * threadSteps), 1, wanted);
  return std::unique_ptr<ColumnReductionKernel>(
      new ColumnReductionKernel(kernel, std::move(reduction), vectors, {blocks * parts, parts}, columns));
}

std::string ColumnReductionKernel::describe() const {
  std::string text = std::to_string(columns.threads * vectors.width) + " columns per block";
  if (grid.parts > 1)
    text = std::to_string(grid.parts) + " blocks per " + std::to_string(columns.threads * vectors.width) + " columns";
  return text + ", " + std::to_string(reduction.getNumElements()) + " elements per column; " +
         describePoints(reduction.program);
}

void ColumnReductionKernel::emitStage(raw_ostream &os) const {
  const KernelProgram &program = reduction.program;
  std::string type = indices.getType().str();
  unsigned innermost = program.getPoint().end - 1;
  std::string column = IndexPrinter::getVariable(innermost);

  // Blocks that share columns are consecutive; then follow the groups of columns, then the other dimensions.
  std::string place = indices.getBlock();
  std::string begin = "threadIdx.x / " + std::to_string(columns.threads);
  if (grid.parts > 1) {
    os << "  const " << type << " part = " << place << " % " << grid.parts << ";\n";
    os << "  const " << type << " columnTile = " << place << " / " << grid.parts << ";\n";
    begin = "part * " + std::to_string(getRows()) + " + " + begin;
  } else {
    os << "  const " << type << " columnTile = " << place << ";\n";
  }
  os << "  const " << type << " " << column << " = (columnTile % " << columns.blocks << " * " << columns.threads
     << " + threadIdx.x % " << columns.threads << ")"
     << (vectors.width == 1 ? "" : " * " + std::to_string(vectors.width)) << ";\n  const " << type
     << " outer = columnTile / " << columns.blocks << ";\n";
  indices.emitPoint(os, "  ", 0, program.getExtents(program.getPoint()).drop_back(), "outer", 1);
  emitCombiners(os);
  emitAccumulators(os, vectors.width);
  os << "  if (" << column << " < " << program.extents[innermost] << ") {\n";
  indices.emitLoop(os, "    ", reduction.loops.begin, program.getExtents(reduction.loops), 1, begin,
                   std::to_string(grid.parts * getRows()));
  emitLoopBody(os, "    ", vectors);
  os << "  }\n";
  emitResults(os, "reduceColumns<" + std::to_string(columns.threads) + ", " + std::to_string(getRows()) + ">");
  os << "  if (threadIdx.x >= " << columns.threads << " || " << column << " >= " << program.extents[innermost]
     << ")\n    return;\n";
  emitEnd(os, "outer * " + std::to_string(program.extents[innermost]) + " + " + column);
}
