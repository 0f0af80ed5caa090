//===- PointwiseSchedule.cpp - A few consecutive elements per thread ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every thread computes one point, or one vector of neighbouring points, of the iteration space, and no thread reads an
// element that another thread writes. A thread loads everything before it stores anything and no pointer is
// `__restrict__`: an output may be the buffer of an input that is read at the same point (a parameter updated in
// place).
//
//===----------------------------------------------------------------------===//

#include "IterationSpace.h"
#include "ScalarEmitter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336::cuda;

namespace {

constexpr int64_t pointwiseThreads = 256;

VectorAxis chooseVectors(const KernelProgram &program, const DeviceKernel &kernel) {
  if (program.getPoint().getNumDims() == 0)
    return {};
  unsigned innermost = program.getPoint().end - 1;
  return {innermost, chooseVectorWidth(program, kernel, innermost, VectorAccess::Interleaved)};
}

class PointwiseKernel : public ScheduledKernel {
public:
  PointwiseKernel(const DeviceKernel &kernel, KernelProgram program)
      : kernel(kernel), program(std::move(program)), vectors(chooseVectors(this->program, kernel)),
        indices(needs64BitIndices(this->program)) {}

  SmallVector<KernelFunction> getFunctions() const override {
    return {{kernel.name, llvm::divideCeilSigned(program.getNumPoints() / vectors.width, pointwiseThreads),
             pointwiseThreads}};
  }
  void collectDeviceSources(DeviceSources &sources) const override {
    if (vectors.width > 1)
      sources.insert("vector.cuh");
    program.collectDeviceSources(kernel, sources);
  }
  std::string describe() const override;
  void emit(raw_ostream &os) const override;

private:
  const DeviceKernel kernel;
  const KernelProgram program;
  const VectorAxis vectors;
  const IndexPrinter indices;
};

class PointwiseSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "pointwise"; }

  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    FailureOr<KernelProgram> program = KernelProgram::read(kernel, whyNot);
    if (failed(program))
      return nullptr;
    if (program->hasReductions()) {
      whyNot = "reduces over an axis";
      return nullptr;
    }
    mergeDimensions(*program);
    return requireGrid(std::make_unique<PointwiseKernel>(kernel, std::move(*program)), whyNot);
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createPointwiseSchedule() { return std::make_unique<PointwiseSchedule>(); }

std::string PointwiseKernel::describe() const {
  std::string elements = vectors.width == 1 ? "one element" : std::to_string(vectors.width) + " consecutive elements";
  return elements + " per thread; " + describePoints(program);
}

void PointwiseKernel::emit(raw_ostream &os) const {
  emitTables(os, kernel, program);
  emitSignature(os, kernel, kernel.name, pointwiseThreads);
  indices.emitThreadPoint(os, program.extents, vectors.width, pointwiseThreads);
  SmallVector<unsigned> all = llvm::to_vector(llvm::seq<unsigned>(0, program.scalars.size()));
  ScalarEmitter(kernel, program, indices, vectors, os).emitToStores(all);
  os << "}\n";
}
