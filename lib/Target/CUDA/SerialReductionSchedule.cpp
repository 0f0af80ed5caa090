//===- SerialReductionSchedule.cpp - A thread an element of the outputs ---===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts every program: a thread computes one point of the outputs, with a loop for every reduction. It suits short
// reductions, and is the fallback for those that no other schedule accepts, such as reductions along several axes that
// depend on each other.
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "IterationSpace.h"
#include "ScalarEmitter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336::cuda;

namespace {

constexpr int64_t serialReductionThreads = 256;

/// A set of nests of loops.
using Nests = llvm::SmallBitVector;

class SerialReductionKernel : public ScheduledKernel {
public:
  SerialReductionKernel(const DeviceKernel &kernel, KernelProgram program);

  SmallVector<KernelFunction> getFunctions() const override {
    return {
        {kernel.name, llvm::divideCeilSigned(program.getNumPoints(), serialReductionThreads), serialReductionThreads}};
  }
  void collectDeviceSources(DeviceSources &sources) const override { program.collectDeviceSources(kernel, sources); }
  std::string describe() const override { return "one element per thread; " + describePoints(program); }
  void emit(raw_ostream &os) const override;

private:
  Nests findNests(const Scalar &scalar) const;
  /// Returns the scalars that `roots` depend on and that are computed once per iteration of the loops `around`, the
  /// innermost of which is `innermost` (0: once).
  SmallVector<unsigned> collectLevel(ArrayRef<unsigned> roots, const Nests &around, unsigned innermost) const;
  /// Writes the loop of a reduction and returns its result.
  Expression emitLoop(raw_ostream &os, ScalarEmitter &outer, unsigned id, Nests around, StringRef indent) const;

  const DeviceKernel kernel;
  const KernelProgram program;
  const IndexPrinter indices;
  /// The reduction in whose loops each scalar is computed.
  SmallVector<Nests> nestsOfScalars;
};

class SerialReductionSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "serial_reduction"; }

  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    FailureOr<KernelProgram> program = KernelProgram::read(kernel, whyNot);
    if (failed(program))
      return nullptr;
    mergeDimensions(*program);
    return requireGrid(std::make_unique<SerialReductionKernel>(kernel, std::move(*program)), whyNot);
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createSerialReductionSchedule() {
  return std::make_unique<SerialReductionSchedule>();
}

SerialReductionKernel::SerialReductionKernel(const DeviceKernel &kernel, KernelProgram program)
    : kernel(kernel), program(std::move(program)), indices(needs64BitIndices(this->program)) {
  for (const Scalar &scalar : this->program.scalars)
    nestsOfScalars.push_back(findNests(scalar));
}

Nests SerialReductionKernel::findNests(const Scalar &scalar) const {
  Nests nests(program.nests.size());
  auto addIndex = [&](AffineExpr index) {
    for (unsigned nest = 1; nest < program.nests.size(); ++nest)
      for (unsigned dim = program.nests[nest].begin; dim < program.nests[nest].end; ++dim)
        if (index.isFunctionOfDim(dim))
          nests.set(nest);
  };
  if (scalar.index)
    addIndex(scalar.index);
  if (scalar.box)
    for (const Box::Range &range : program.boxes[*scalar.box].ranges)
      addIndex(range.index);
  for (unsigned operand : scalar.operands)
    nests |= nestsOfScalars[operand];
  if (scalar.kind == Scalar::Kind::Reduced)
    nests.reset(scalar.nest);
  return nests;
}

SmallVector<unsigned> SerialReductionKernel::collectLevel(ArrayRef<unsigned> roots, const Nests &around,
                                                          unsigned innermost) const {
  SmallVector<unsigned> waiting(roots), found;
  llvm::SmallDenseSet<unsigned> seen;
  while (!waiting.empty()) {
    unsigned id = waiting.pop_back_val();
    const Nests &nests = nestsOfScalars[id];
    // Values that do not depend on the innermost loop have been computed outside it.
    if (!seen.insert(id).second || (innermost != 0 && !nests.test(innermost)))
      continue;
    // Scalars that depend on inner loops are not included.
    if (!nests.test(around))
      found.push_back(id);
    llvm::append_range(waiting, program.scalars[id].operands);
  }
  llvm::sort(found);
  return found;
}

Expression SerialReductionKernel::emitLoop(raw_ostream &os, ScalarEmitter &outer, unsigned id, Nests around,
                                           StringRef indent) const {
  const Scalar &scalar = program.scalars[id];
  const LoopNest &loops = program.nests[scalar.nest];
  Expression partial{"partial" + std::to_string(outer.takeNumber())};
  os << indent << ExpressionPrinter::getComputeType(scalar.type) << " " << partial.text << " = "
     << outer.getExpression(scalar.operands.back()).text << ";\n";
  indices.emitLoop(os, indent, loops.begin, program.getExtents(loops), 1, "0", "1");

  std::string body = (indent + "  ").str();
  around.set(scalar.nest);
  ScalarEmitter inner = outer;
  SmallVector<unsigned> scalars = collectLevel(scalar.operands.front(), around, scalar.nest);
  inner.emitLoads(scalars, body);
  inner.emitOperations(
      scalars, body, [&](unsigned reduced, StringRef indent) { return emitLoop(os, inner, reduced, around, indent); });
  Expression combined = ExpressionPrinter::print(scalar.op, {partial, inner.getExpression(scalar.operands.front())});
  os << body << partial.text << " = " << combined.text << ";\n" << indent << "}\n";
  return partial;
}

void SerialReductionKernel::emit(raw_ostream &os) const {
  emitTables(os, kernel, program);
  emitSignature(os, kernel, kernel.name, serialReductionThreads);
  indices.emitThreadPoint(os, program.getExtents(program.getPoint()), 1, serialReductionThreads);
  SmallVector<unsigned> stored;
  for (const Store &store : program.stores)
    stored.push_back(store.value);
  Nests none(program.nests.size());
  ScalarEmitter emitter(kernel, program, indices, {}, os);
  emitter.emitToStores(collectLevel(stored, none, 0), "  ", [&](unsigned reduced, StringRef indent) {
    return emitLoop(os, emitter, reduced, none, indent);
  });
  os << "}\n";
}
