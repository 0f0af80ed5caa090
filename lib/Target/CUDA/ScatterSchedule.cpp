//===- ScatterSchedule.cpp - Rows added to a table at computed places -----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts loops over positions, then columns, that add an element of a gradient to a row of a table. An integer per
// position selects the row. A first function fills the table. In the second, a warp handles a slice of the columns at
// one position. It searches all positions of the same row, 32 at a time, and stops if it finds one before its own. So
// the warp at the first position of a row sums all of them, in order, and is the only one that writes the row. There
// are no atomic additions, and every run gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "ScalarEmitter.h"
#include "ScatterKernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336::cuda;

namespace {

/// Gradients that a thread loads before it adds the first of them.
constexpr int64_t loadsAtOnce = 4;

class SearchedScatterKernel : public ScatterKernel {
public:
  using ScatterKernel::ScatterKernel;

  SmallVector<KernelFunction> getFunctions() const override;
  std::string describe() const override;
  void emit(raw_ostream &os) const override;

private:
  void emitFill(raw_ostream &os) const;
  void emitSums(raw_ostream &os) const;
};

class ScatterSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "scatter"; }

  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    std::optional<ScatterLoops> scatter = ScatterLoops::match(kernel.function);
    if (!scatter) {
      whyNot = "adds no rows to a table";
      return nullptr;
    }
    return requireGrid(std::make_unique<SearchedScatterKernel>(kernel, *scatter), whyNot);
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createScatterSchedule() { return std::make_unique<ScatterSchedule>(); }

SmallVector<KernelFunction> SearchedScatterKernel::getFunctions() const {
  int64_t vectors = kernel.operands.back().getNumElements() / columns.width;
  int64_t warps = getNumPositions() * getNumSlices();
  return {{kernel.name + "_fill", llvm::divideCeilSigned(vectors, threadsPerBlock), threadsPerBlock},
          {kernel.name, llvm::divideCeilSigned(warps, warpsPerBlock), threadsPerBlock}};
}

std::string SearchedScatterKernel::describe() const {
  return std::to_string(getNumPositions()) + " positions, one warp per position and " +
         std::to_string(threadsPerWarp * columns.width) +
         " columns; the warp of a row's first position sums all positions of the row";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void SearchedScatterKernel::emit(raw_ostream &os) const {
  emitSignature(os, kernel, kernel.name + "_fill", threadsPerBlock);
  emitFill(os);
  os << "}\n\n";
  emitSignature(os, kernel, kernel.name, threadsPerBlock);
  emitSums(os);
  os << "}\n";
}

void SearchedScatterKernel::emitFill(raw_ostream &os) const {
  std::string element = ExpressionPrinter::getStorageType(getTableType()).str();
  std::string value = ExpressionPrinter::printStored(getTableType(), ExpressionPrinter::print(scatter.initial)).text;
  int64_t numElements = kernel.operands.back().getNumElements();
  indices.emitThreadPoint(os, numElements, columns.width, threadsPerBlock);
  if (columns.width == 1) {
    os << "  out0[i0] = " << value << ";\n";
    return;
  }
  os << "  " << getVectorType(element) << " y0;\n#pragma unroll\n  for (int lane = 0; lane < " << columns.width
     << "; ++lane)\n    y0[lane] = " << value << ";\n  storeVector(out0 + i0, y0);\n";
}

void SearchedScatterKernel::emitSums(raw_ostream &os) const {
  std::string type = indices.getType().str();
  int64_t numPositions = getNumPositions(), numSlices = getNumSlices();
  os << "  const " << type << " warp = " << indices.getBlock() << " * " << warpsPerBlock << " + threadIdx.x / 32;\n"
     << "  if (warp >= " << numPositions * numSlices << ")\n    return;\n"
     << "  const " << type << " position = warp / " << numSlices << ";\n"
     << "  const " << type << " column = (warp % " << numSlices << " * 32 + threadIdx.x % 32) * " << columns.width
     << ";\n"
     << "  const bool inside = column < " << scatter.columns << ";\n";
  os << "  long long row;\n  {\n";
  std::string row = emitRow(os, "    ", "position");
  os << "    row = " << row << ";\n  }\n"
     << "  " << getSumType() << " sum = " << splat(scatter.initial) << ";\n"
     << "  for (" << type << " begin = 0; begin < " << numPositions << "; begin += 32) {\n"
     << "    const " << type << " candidate = begin + threadIdx.x % 32;\n    bool isSame = false;\n"
     << "    if (candidate < " << numPositions << ") {\n";
  std::string candidate = emitRow(os, "      ", "candidate");
  os << "      isSame = " << candidate << " == row;\n    }\n"
     << "    unsigned same = __ballot_sync(0xffffffffu, isSame);\n"
     << "    if (same != 0 && begin + __ffs(same) - 1 < position)\n"
     << "      return;\n"
     << "    while (same != 0) {\n"
     << "      " << getGradientType() << " x[" << loadsAtOnce << "];\n"
     << "      bool isThere[" << loadsAtOnce << "];\n"
     << "#pragma unroll\n"
     << "      for (int load = 0; load < " << loadsAtOnce << "; ++load) {\n"
     << "        isThere[load] = inside && same != 0;\n"
     << "        const " << type << " found = begin + __ffs(same) - 1;\n"
     << "        same &= same - 1;\n"
     << "        if (isThere[load]) {\n";
  emitLoad(os, "          ", "x[load]", "found");
  os << "        }\n      }\n"
     << "#pragma unroll\n"
     << "      for (int load = 0; load < " << loadsAtOnce << "; ++load) {\n"
     << "        if (!isThere[load])\n          continue;\n";
  emitAddition(os, "        ", "x[load]");
  os << "      }\n    }\n  }\n  if (!inside)\n    return;\n";
  emitStore(os, "  ");
}
