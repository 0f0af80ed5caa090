//===- ReductionKernel.cpp - Kernels that reduce, threads sharing the work ===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch determines the order in which numbers are combined: within a thread in the order of its loop, then lanes,
// the threads of a warp, warps and blocks, each in a fixed order. So two runs give the same bits.
//
//===----------------------------------------------------------------------===//

#include "ReductionKernel.h"
#include "ExpressionPrinter.h"
#include "IterationSpace.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace cs336::cuda;

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

Reduction Reduction::of(KernelProgram program) {
  Reduction reduction{std::move(program), {}, {}};
  for (auto [id, scalar] : llvm::enumerate(reduction.program.scalars))
    if (scalar.kind == Scalar::Kind::Reduced)
      reduction.reduced.push_back(id);
  reduction.loops = reduction.program.nests.back();
  return reduction;
}

FailureOr<Reduction> Reduction::read(const DeviceKernel &kernel, std::string &whyNot) {
  FailureOr<KernelProgram> program = KernelProgram::read(kernel, whyNot);
  if (failed(program))
    return failure();
  if (!program->hasReductions()) {
    whyNot = "reduces over no axis";
    return failure();
  }
  mergeDimensions(*program);
  Reduction reduction = of(std::move(*program));
  bool needsOthers = llvm::any_of(reduction.program.collectOperands(reduction.getCombined()), [&](unsigned id) {
    return reduction.program.scalars[id].kind == Scalar::Kind::Reduced;
  });
  if (needsOthers || reduction.program.nests.size() > 2) {
    whyNot = "has reductions that need the results of others or run through other loops";
    return failure();
  }
  return reduction;
}

SmallVector<unsigned> Reduction::getCombined() const {
  return llvm::map_to_vector(reduced, [&](unsigned id) { return program.scalars[id].operands.front(); });
}

//===----------------------------------------------------------------------===//
// Requirements of the kernel
//===----------------------------------------------------------------------===//

bool ReductionKernel::needs64Bit(const Reduction &reduction, const ReductionGrid &grid) {
  return needs64BitIndices(reduction.program) ||
         grid.parts * reduction.getNumPoints() > std::numeric_limits<int32_t>::max();
}

SmallVector<KernelFunction> ReductionKernel::getFunctions() const {
  if (grid.parts == 1)
    return {{kernel.name, grid.blocks, grid.threadsPerBlock}};
  int64_t combiningBlocks = llvm::divideCeilSigned(reduction.getNumPoints(), grid.warpsPerBlock);
  return {{kernel.name + "_parts", grid.blocks, grid.threadsPerBlock},
          {kernel.name, combiningBlocks, grid.threadsPerBlock}};
}

int64_t ReductionKernel::getPartialBytes(unsigned number) const {
  // Returns the type in which the text stores a variable.
  Type type = getType(number);
  int64_t elementBytes = type.isF64() || type.isInteger(64) ? 8 : type.isInteger(1) ? 1 : 4;
  return llvm::alignTo(grid.parts * reduction.getNumPoints() * elementBytes, 16);
}

int64_t ReductionKernel::getWorkspaceBytes() const {
  int64_t bytes = 0;
  for (unsigned number = 0; grid.parts > 1 && number < reduction.reduced.size(); ++number)
    bytes += getPartialBytes(number);
  return bytes;
}

void ReductionKernel::collectDeviceSources(DeviceSources &sources) const {
  sources.insert("vector.cuh");
  sources.insert("reduce.cuh");
  reduction.program.collectDeviceSources(kernel, sources);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void ReductionKernel::emit(raw_ostream &os) const {
  emitTables(os, kernel, reduction.program);
  emitSignature(os, kernel, getFunctions().front().symbol, grid.threadsPerBlock, grid.parts > 1);
  emitStage(os);
  os << "}\n";
  if (grid.parts == 1)
    return;
  os << "\n";
  emitSignature(os, kernel, kernel.name, grid.threadsPerBlock, /*hasWorkspace=*/true);
  emitCombiningStage(os);
  os << "}\n";
}

void cs336::cuda::emitCombiner(raw_ostream &os, const Scalar &reduced, unsigned number) {
  StringRef type = ExpressionPrinter::getComputeType(reduced.type);
  Expression combined = ExpressionPrinter::print(reduced.op, {Expression{"a"}, {"b"}});
  os << "  const auto combine" << number << " = [](" << type << " a, " << type << " b) { return " << combined.text
     << "; };\n";
}

void cs336::cuda::emitAccumulator(raw_ostream &os, const Scalar &reduced, unsigned number, int64_t width) {
  StringRef type = ExpressionPrinter::getComputeType(reduced.type);
  std::string neutral = ExpressionPrinter::print(getNeutralElement(reduced)).text;
  if (width == 1) {
    os << "  " << type << " partial" << number << " = " << neutral << ";\n";
    return;
  }
  os << "  Vector<" << type << ", " << width << "> partial" << number << " = {";
  for (int64_t lane = 0; lane < width; ++lane)
    os << (lane == 0 ? "" : ", ") << neutral;
  os << "};\n";
}

Expression cs336::cuda::printResult(const KernelProgram &program, const ScalarEmitter &emitter, unsigned reduced,
                                    const Expression &result) {
  const Scalar &scalar = program.scalars[reduced], &initial = program.scalars[scalar.operands.back()];
  if (initial.constant == getNeutralElement(scalar))
    return result;
  return ExpressionPrinter::print(scalar.op, {emitter.getExpression(scalar.operands.back()), result});
}

void ReductionKernel::emitCombiners(raw_ostream &os) const {
  for (auto [number, id] : llvm::enumerate(reduction.reduced))
    emitCombiner(os, reduction.program.scalars[id], number);
}

void ReductionKernel::emitAccumulators(raw_ostream &os, int64_t width) const {
  for (auto [number, id] : llvm::enumerate(reduction.reduced))
    emitAccumulator(os, reduction.program.scalars[id], number, width);
}

void ReductionKernel::emitLoopBody(raw_ostream &os, StringRef indent, VectorAxis step) const {
  std::string inner = (indent + "  ").str();
  ScalarEmitter emitter(kernel, reduction.program, indices, step, os);
  StringRef lane = vectors.width == 1 ? "" : step.width == 1 ? "[0]" : "[lane]";
  SmallVector<unsigned> scalars = reduction.program.collectOperands(reduction.getCombined());
  emitter.emitLoads(scalars, inner);
  std::string body = emitter.openLanes(inner);
  emitter.emitOperations(scalars, body);
  for (auto [number, id] : llvm::enumerate(reduction.reduced)) {
    const Scalar &scalar = reduction.program.scalars[id];
    Expression partial{"partial" + std::to_string(number) + lane.str()};
    Expression value = emitter.getExpression(scalar.operands.front());
    os << body << partial.text << " = " << ExpressionPrinter::print(scalar.op, {partial, value}).text << ";\n";
  }
  emitter.closeLanes(inner);
  os << indent << "}\n";
}

void ReductionKernel::emitResults(raw_ostream &os, StringRef combineThreads) const {
  for (unsigned number = 0; number < reduction.reduced.size(); ++number) {
    std::string partial = "partial" + std::to_string(number), combine = "combine" + std::to_string(number);
    if (vectors.width > 1 && !holdsPoints())
      partial = "reduceLanes(" + partial + ", " + combine + ")";
    os << "  const auto result" << number << " = " << combineThreads << "(" << partial << ", " << combine << ");\n";
  }
}

void ReductionKernel::emitWorkspace(raw_ostream &os) const {
  int64_t offset = 0;
  for (unsigned number = 0; number < reduction.reduced.size(); ++number) {
    StringRef type = ExpressionPrinter::getComputeType(getType(number));
    os << "  " << type << " *const parts" << number << " = reinterpret_cast<" << type << " *>(workspace";
    if (offset != 0)
      os << " + " << offset;
    os << ");\n";
    offset += getPartialBytes(number);
  }
}

void ReductionKernel::emitOutputs(raw_ostream &os, VectorAxis vectors) const {
  ScalarEmitter emitter(kernel, reduction.program, indices, vectors, os);
  SmallVector<unsigned> stored;
  for (const Store &store : reduction.program.stores)
    stored.push_back(store.value);
  auto getResult = [&](unsigned id, StringRef) {
    unsigned number = llvm::find(reduction.reduced, id) - reduction.reduced.begin();
    return printResult(reduction.program, emitter, id,
                       {"result" + std::to_string(number) + (vectors.width > 1 ? "[lane]" : "")});
  };
  emitter.emitToStores(reduction.program.collectOperands(stored), "  ", getResult);
}

void ReductionKernel::emitEnd(raw_ostream &os, StringRef position) const {
  VectorAxis pointVectors = holdsPoints() ? vectors : VectorAxis();
  if (grid.parts == 1)
    return emitOutputs(os, pointVectors);
  emitWorkspace(os);
  for (unsigned number = 0; number < reduction.reduced.size(); ++number) {
    std::string place = "part * " + std::to_string(reduction.getNumPoints()) + " + " + position.str();
    if (holdsPoints())
      os << "  storeVector(parts" << number << " + " << place << ", result" << number << ");\n";
    else
      os << "  parts" << number << "[" << place << "] = result" << number << ";\n";
  }
}

void ReductionKernel::emitCombiningStage(raw_ostream &os) const {
  const KernelProgram &program = reduction.program;
  int64_t numPoints = reduction.getNumPoints();
  os << "  const " << indices.getType() << " point = " << indices.getBlock() << " * " << grid.warpsPerBlock
     << " + threadIdx.x / 32;\n  if (point >= " << numPoints << ")\n    return;\n";
  indices.emitPoint(os, "  ", 0, program.getExtents(program.getPoint()), "point", 1);
  emitCombiners(os);
  emitWorkspace(os);
  emitAccumulators(os, 1);
  os << "  for (" << indices.getType() << " part = threadIdx.x % 32; part < " << grid.parts << "; part += 32) {\n";
  for (unsigned number = 0; number < reduction.reduced.size(); ++number)
    os << "    partial" << number << " = combine" << number << "(partial" << number << ", parts" << number << "[part * "
       << numPoints << " + point]);\n";
  os << "  }\n";
  for (unsigned number = 0; number < reduction.reduced.size(); ++number)
    os << "  const auto result" << number << " = reduceWarp(partial" << number << ", combine" << number << ");\n";
  os << "  if (threadIdx.x % 32 != 0)\n    return;\n";
  emitOutputs(os, {});
}
