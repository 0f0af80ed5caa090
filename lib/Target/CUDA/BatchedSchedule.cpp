//===- BatchedSchedule.cpp - One grid that does one thing to many buffers -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts element-wise kernels that do the same computation on many buffers, such as the updates of all parameters.
//
// A thread loads everything before it stores anything, as in the pointwise schedule: an output may be the buffer of an
// input of the same member.
//
//===----------------------------------------------------------------------===//

#include "Batch.h"
#include "ScalarEmitter.h"

using namespace mlir;
using namespace cs336::cuda;

namespace {

constexpr int64_t vectorsPerThread = 4;

class BatchedKernel : public ScheduledKernel {
public:
  BatchedKernel(const DeviceKernel &kernel, Batch batch) : name(kernel.name), batch(std::move(batch)) {}

  SmallVector<KernelFunction> getFunctions() const override {
    return {{name, batch.getNumBlocks(), Batch::threadsPerBlock}};
  }
  void collectDeviceSources(DeviceSources &sources) const override {
    sources.insert("batch.cuh");
    if (batch.getWidth() > 1)
      sources.insert("vector.cuh");
    batch.getMember().collectDeviceSources(batch.getBody(), sources);
  }
  std::string describe() const override { return batch.describe(); }
  std::string describeOperands() const override { return batch.describeOperands(); }
  void emit(raw_ostream &os) const override;

private:
  const std::string name;
  const Batch batch;
};

class BatchedSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "batched"; }

  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    FailureOr<Batch> batch = Batch::read(kernel, vectorsPerThread, whyNot);
    if (failed(batch))
      return nullptr;
    if (batch->getMember().hasReductions()) {
      whyNot = "reduces over an axis";
      return nullptr;
    }
    return std::make_unique<BatchedKernel>(kernel, std::move(*batch));
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createBatchedSchedule() { return std::make_unique<BatchedSchedule>(); }

void BatchedKernel::emit(raw_ostream &os) const {
  const KernelProgram &member = batch.getMember();
  batch.emitTables(os, /*hasWorkspace=*/false);
  batch.emitSignature(os, name);
  batch.emitBlock(os);

  SmallVector<unsigned> all = llvm::to_vector(llvm::seq<unsigned>(0, member.scalars.size())), scalarLoads;
  llvm::copy_if(all, std::back_inserter(scalarLoads), [&](unsigned id) {
    const Scalar &scalar = member.scalars[id];
    return scalar.kind == Scalar::Kind::Load && scalar.index.isSymbolicOrConstant();
  });
  auto emitStep = [&](const ScalarEmitter &outer) {
    ScalarEmitter(outer).emitToStores(all, "    ");
    os << "  }\n";
  };
  ScalarEmitter vectors(batch.getBody(), member, batch.getIndices(), {0, batch.getWidth()}, os);
  // An element that all threads read is loaded before the loops.
  vectors.emitLoads(scalarLoads, "  ");
  batch.emitLoop(os, "begin", batch.getWidth());
  emitStep(vectors);
  if (batch.hasRest()) {
    ScalarEmitter elements(batch.getBody(), member, batch.getIndices(), {}, os);
    for (unsigned load : scalarLoads)
      elements.provideFrom(vectors, load);
    batch.emitRestLoop(os);
    emitStep(elements);
  }
  os << "}\n";
}
