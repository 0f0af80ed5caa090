//===- BucketedScatterSchedule.cpp - Rows added to a table, by bucket -----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts the loops of ScatterSchedule.cpp over many positions, for which a search at every position takes too long.
// The first functions collect the positions of every row (runtime/kernels/buckets.cuh). In the last, a warp sums a
// slice of the columns of a row that has few positions, in order. A block does so for a row that has many: each of its
// warps sums consecutive positions, and the first one adds these sums, in order. No floating-point addition is atomic,
// and every run gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "ScalarEmitter.h"
#include "ScatterKernel.h"
#include "llvm/Support/MathExtras.h"

#include <functional>
#include <limits>

using namespace mlir;
using namespace cs336::cuda;

namespace {

/// Up to this number of positions, the search of ScatterSchedule.cpp takes less time than the functions here.
constexpr int64_t maxSearchedPositions = 1024;
/// Gradients that a thread loads before it adds the first of them.
constexpr int64_t bucketLoads = 4;
/// Many warps share a long row, because each waits for memory most of the time.
constexpr int64_t threadsPerLongRow = 1024, warpsPerLongRow = threadsPerLongRow / 32;
/// As in runtime/kernels/buckets.cuh.
constexpr int64_t shortSize = 32;
/// Blocks that share the long rows: two per multiprocessor.
constexpr int64_t maxLongBlocks = 2 * portableTarget.multiprocessors;

class BucketedScatterKernel : public ScatterKernel {
public:
  using ScatterKernel::ScatterKernel;

  SmallVector<KernelFunction> getFunctions() const override;
  int64_t getWorkspaceBytes() const override;
  void collectDeviceSources(DeviceSources &sources) const override;
  std::string describe() const override;
  void emit(raw_ostream &os) const override;

private:
  int64_t getMaxLongRows() const { return getNumPositions() / (shortSize + 1); }
  int64_t getNumSortBlocks() const { return std::min(getMaxLongRows(), maxLongBlocks); }
  int64_t getNumLongBlocks() const { return std::min(getMaxLongRows() * getNumSlices(), maxLongBlocks); }
  /// Returns "Buckets<rows, positions>".
  std::string getBuckets() const;
  /// Writes a step of buckets.cuh that has a thread per position.
  void emitPositionStep(raw_ostream &os, StringRef step) const;
  /// Writes the start of a function that sums: the buckets and `add`, a function of a warp.
  void emitAdd(raw_ostream &os) const;
  /// Declares `column` from `task`, the number of a row and a slice.
  void emitColumn(raw_ostream &os, StringRef indent) const;
  /// Writes `sum` if its columns exist.
  void emitStoreInside(raw_ostream &os, StringRef indent) const;
  void emitShortRows(raw_ostream &os) const;
  void emitLongRows(raw_ostream &os) const;
};

class BucketedScatterSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "bucketed_scatter"; }

  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    constexpr int64_t limit = std::numeric_limits<int32_t>::max();
    std::optional<ScatterLoops> scatter = ScatterLoops::match(kernel.function);
    if (!scatter) {
      whyNot = "adds no rows to a table";
      return nullptr;
    }
    int64_t numPositions = ShapedType::getNumElements(scatter->positions);
    if (numPositions <= maxSearchedPositions) {
      whyNot = "adds no more than " + std::to_string(maxSearchedPositions) + " rows";
      return nullptr;
    }
    if (numPositions > limit || kernel.operands.back().getDimSize(0) > limit) {
      whyNot = "has more rows or positions than 32-bit numbers";
      return nullptr;
    }
    return requireGrid(std::make_unique<BucketedScatterKernel>(kernel, *scatter), whyNot);
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createBucketedScatterSchedule() {
  return std::make_unique<BucketedScatterSchedule>();
}

//===----------------------------------------------------------------------===//
// Requirements of the kernel
//===----------------------------------------------------------------------===//

SmallVector<KernelFunction> BucketedScatterKernel::getFunctions() const {
  int64_t rowBlocks = llvm::divideCeilSigned(getNumRows(), threadsPerBlock);
  int64_t positionBlocks = llvm::divideCeilSigned(getNumPositions(), threadsPerBlock);
  return {{kernel.name + "_clear", rowBlocks, threadsPerBlock},
          {kernel.name + "_count", positionBlocks, threadsPerBlock},
          {kernel.name + "_reserve", rowBlocks, threadsPerBlock},
          {kernel.name + "_place", positionBlocks, threadsPerBlock},
          {kernel.name + "_sort", getNumSortBlocks(), threadsPerBlock},
          {kernel.name + "_long", getNumLongBlocks(), threadsPerLongRow},
          {kernel.name, llvm::divideCeilSigned(getNumRows() * getNumSlices(), warpsPerBlock), threadsPerBlock}};
}

int64_t BucketedScatterKernel::getWorkspaceBytes() const {
  return sizeof(uint32_t) * (2 + 2 * getNumRows() + 3 * getNumPositions() + getMaxLongRows());
}

void BucketedScatterKernel::collectDeviceSources(DeviceSources &sources) const {
  ScatterKernel::collectDeviceSources(sources);
  sources.insert("buckets.cuh");
}

std::string BucketedScatterKernel::describe() const {
  return "positions are collected by row; then a warp sums " + std::to_string(threadsPerWarp * columns.width) +
         " columns of a row, or a block does if the row has more than " + std::to_string(shortSize) + " positions";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string BucketedScatterKernel::getBuckets() const {
  return "Buckets<" + std::to_string(getNumRows()) + ", " + std::to_string(getNumPositions()) + ">";
}

void BucketedScatterKernel::emit(raw_ostream &os) const {
  std::string thread = "blockIdx.x * " + std::to_string(threadsPerBlock) + " + threadIdx.x";
  auto emitStep = [&](StringRef call) { os << "  " << getBuckets() << "(workspace)." << call << ";\n"; };
  const std::function<void()> bodies[] = {
      [&] { emitStep("clear(" + thread + ")"); },
      [&] { emitPositionStep(os, "count"); },
      [&] { emitStep("reserve(" + thread + ")"); },
      [&] { emitPositionStep(os, "place"); },
      [&] { emitStep("sortLong(" + std::to_string(getNumSortBlocks()) + ")"); },
      [&] { emitLongRows(os); },
      [&] { emitShortRows(os); },
  };
  for (auto [function, emitBody] : llvm::zip_equal(getFunctions(), bodies)) {
    emitSignature(os, kernel, function.symbol, function.threads, /*hasWorkspace=*/true);
    emitBody();
    os << (function.symbol == kernel.name ? "}\n" : "}\n\n");
  }
}

void BucketedScatterKernel::emitPositionStep(raw_ostream &os, StringRef step) const {
  os << "  const unsigned position = blockIdx.x * " << threadsPerBlock << " + threadIdx.x;\n"
     << "  if (position >= " << getNumPositions() << ")\n    return;\n";
  std::string row = emitRow(os, "  ", "position");
  os << "  " << getBuckets() << "(workspace)." << step << "(position, " << row << ");\n";
}

void BucketedScatterKernel::emitAdd(raw_ostream &os) const {
  std::string type = indices.getType().str();
  os << "  const " << getBuckets() << " rows(workspace);\n"
     << "  static_assert(rows.bytes == " << getWorkspaceBytes() << " && rows.shortSize == " << shortSize << ");\n"
     << "  // Adds the gradient at the positions of the first `count` lanes, in the order of the lanes.\n"
     << "  const auto add = [&](" << getSumType() << " &sum, " << type << " column, unsigned held, unsigned count) {\n"
     << "    for (unsigned begin = 0; begin < count; begin += " << bucketLoads << ") {\n"
     << "      " << getGradientType() << " x[" << bucketLoads << "];\n"
     << "#pragma unroll\n"
     << "      for (int load = 0; load < " << bucketLoads << "; ++load) {\n"
     << "        const unsigned position = __shfl_sync(0xffffffffu, held, begin + load);\n"
     << "        if (begin + load < count && column < " << scatter.columns << ") {\n";
  emitLoad(os, "          ", "x[load]", "position");
  os << "        }\n      }\n"
     << "#pragma unroll\n"
     << "      for (int load = 0; load < " << bucketLoads << "; ++load) {\n"
     << "        if (begin + load >= count || column >= " << scatter.columns << ")\n          continue;\n";
  emitAddition(os, "        ", "x[load]");
  os << "      }\n    }\n  };\n";
}

void BucketedScatterKernel::emitColumn(raw_ostream &os, StringRef indent) const {
  os << indent << "const " << indices.getType() << " column = (task % " << getNumSlices()
     << " * 32 + threadIdx.x % 32) * " << columns.width << ";\n";
}

void BucketedScatterKernel::emitStoreInside(raw_ostream &os, StringRef indent) const {
  os << indent << "if (column < " << scatter.columns << ") {\n";
  emitStore(os, (indent + "  ").str());
  os << indent << "}\n";
}

void BucketedScatterKernel::emitShortRows(raw_ostream &os) const {
  std::string type = indices.getType().str();
  emitAdd(os);
  os << "  const " << type << " task = " << indices.getBlock() << " * " << warpsPerBlock << " + threadIdx.x / 32;\n"
     << "  if (task >= " << getNumRows() * getNumSlices() << ")\n    return;\n"
     << "  const " << type << " row = task / " << getNumSlices() << ";\n";
  emitColumn(os, "  ");
  os << "  const unsigned count = rows.counts[row];\n"
     << "  if (count > rows.shortSize)\n    return;\n"
     << "  " << getSumType() << " sum = " << splat(scatter.initial) << ";\n"
     << "  add(sum, column, rows.getSorted(row), count);\n";
  emitStoreInside(os, "  ");
}

void BucketedScatterKernel::emitLongRows(raw_ostream &os) const {
  std::string type = indices.getType().str();
  auto zero = cast<TypedAttr>(Builder(scatter.initial.getContext()).getZeroAttr(scatter.initial.getType()));
  emitAdd(os);
  os << "  __shared__ " << getSumType() << " sums[" << warpsPerLongRow << "][32];\n"
     << "  const unsigned warp = threadIdx.x / 32;\n"
     << "  for (" << type << " task = blockIdx.x; task < *rows.numLong * " << getNumSlices()
     << "; task += " << getNumLongBlocks() << ") {\n"
     << "    const " << type << " row = rows.longBuckets[task / " << getNumSlices() << "];\n";
  emitColumn(os, "    ");
  os << "    const unsigned *const positions = rows.sorted + rows.begins[row];\n"
     << "    // Each warp adds a share of the positions, a multiple of 32.\n"
     << "    const unsigned count = rows.counts[row], share = (count + " << threadsPerLongRow - 1 << ") / "
     << threadsPerLongRow << " * 32;\n"
     << "    const unsigned end = (warp + 1) * share < count ? (warp + 1) * share : count;\n"
     << "    " << getSumType() << " sum = " << splat(zero) << ";\n"
     << "    for (unsigned begin = warp * share; begin < end; begin += 32) {\n"
     << "      const unsigned at = begin + threadIdx.x % 32;\n"
     << "      add(sum, column, at < end ? positions[at] : 0, end - begin < 32 ? end - begin : 32);\n"
     << "    }\n"
     << "    sums[warp][threadIdx.x % 32] = sum;\n"
     << "    __syncthreads();\n"
     << "    if (warp == 0) {\n"
     << "      sum = " << (columns.width == 1 ? "" : getSumType()) << splat(scatter.initial) << ";\n"
     << "      for (int other = 0; other < " << warpsPerLongRow << "; ++other) {\n"
     << "        const " << getSumType() << " part = sums[other][threadIdx.x];\n";
  emitSumAddition(os, "        ", "part");
  os << "      }\n";
  emitStoreInside(os, "      ");
  os << "    }\n"
     << "    __syncthreads();\n  }\n";
}
