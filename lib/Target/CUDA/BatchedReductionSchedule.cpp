//===- BatchedReductionSchedule.cpp - Many reductions in two launches -----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts kernels that reduce each of many buffers to single elements, such as the sums of squares of all gradients. A
// block reduces its elements of one member and stores its partial result in the workspace. A second function combines
// the partial results with one warp per member, always in the same order.
//
//===----------------------------------------------------------------------===//

#include "Batch.h"
#include "ReductionKernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336::cuda;

namespace {

constexpr int64_t reducedVectors = 16;

class BatchedReductionKernel : public ReductionKernel {
public:
  BatchedReductionKernel(const Batch &batch, Reduction reduction)
      : ReductionKernel(batch.getBody(), std::move(reduction), {0, batch.getWidth()},
                        {batch.getNumBlocks(), /*parts=*/batch.getNumBlocks()}),
        batch(batch) {}

  SmallVector<KernelFunction> getFunctions() const override {
    int64_t combiningBlocks = llvm::divideCeil(batch.getNumMembers(), grid.warpsPerBlock);
    return {{kernel.name + "_parts", grid.blocks, grid.threadsPerBlock},
            {kernel.name, combiningBlocks, grid.threadsPerBlock}};
  }
  void collectDeviceSources(DeviceSources &sources) const override {
    ReductionKernel::collectDeviceSources(sources);
    sources.insert("batch.cuh");
  }
  std::string describe() const override { return batch.describe() + "; then one warp per member"; }
  std::string describeOperands() const override { return batch.describeOperands(); }
  void emit(raw_ostream &os) const override;

protected:
  void emitStage(raw_ostream &os) const override;

private:
  void emitCombiningStage(raw_ostream &os) const;

  const Batch batch;
};

class BatchedReductionSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "batched_reduction"; }

  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    FailureOr<Batch> batch = Batch::read(kernel, reducedVectors, whyNot);
    if (failed(batch))
      return nullptr;
    if (!batch->getMember().hasReductions()) {
      whyNot = "reduces over no axis";
      return nullptr;
    }
    // The indices of all members have the type that the longest member requires.
    KernelProgram longest = batch->getMember();
    longest.extents.front() = batch->getLargestSize();
    return std::make_unique<BatchedReductionKernel>(*batch, Reduction::of(std::move(longest)));
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createBatchedReductionSchedule() {
  return std::make_unique<BatchedReductionSchedule>();
}

void BatchedReductionKernel::emit(raw_ostream &os) const {
  batch.emitTables(os, /*hasWorkspace=*/true);
  batch.emitSignature(os, kernel.name + "_parts");
  emitStage(os);
  os << "}\n\n";
  batch.emitSignature(os, kernel.name);
  emitCombiningStage(os);
  os << "}\n";
}

void BatchedReductionKernel::emitStage(raw_ostream &os) const {
  batch.emitBlock(os);
  emitCombiners(os);
  emitAccumulators(os, vectors.width);
  batch.emitLoop(os, "begin", vectors.width);
  emitLoopBody(os, "  ", vectors);
  if (batch.hasRest()) {
    batch.emitRestLoop(os);
    emitLoopBody(os, "  ", {});
  }
  emitResults(os, "reduceBlock<" + std::to_string(grid.threadsPerBlock) + ">");
  os << "  if (threadIdx.x != 0)\n    return;\n";
  batch.emitWorkspace(os);
  emitWorkspace(os);
  for (unsigned number = 0; number < reduction.reduced.size(); ++number)
    os << "  parts" << number << "[blockIdx.x] = result" << number << ";\n";
}

void BatchedReductionKernel::emitCombiningStage(raw_ostream &os) const {
  os << "  const unsigned member = blockIdx.x * " << grid.warpsPerBlock
     << " + threadIdx.x / 32;\n  if (member >= " << batch.getNumMembers() << ")\n    return;\n";
  batch.emitPointers(os);
  batch.emitWorkspace(os);
  emitWorkspace(os);
  emitCombiners(os);
  emitAccumulators(os, 1);
  os << "  const unsigned end = " << batch.getFirstBlocks() << "[member + 1];\n"
     << "  for (unsigned part = " << batch.getFirstBlocks()
     << "[member] + threadIdx.x % 32; part < end; part += 32) {\n";
  for (unsigned number = 0; number < reduction.reduced.size(); ++number)
    os << "    partial" << number << " = combine" << number << "(partial" << number << ", parts" << number
       << "[part]);\n";
  os << "  }\n";
  for (unsigned number = 0; number < reduction.reduced.size(); ++number)
    os << "  const auto result" << number << " = reduceWarp(partial" << number << ", combine" << number << ");\n";
  os << "  if (threadIdx.x % 32 != 0)\n    return;\n";
  emitOutputs(os, {});
}
