//===- FlatProgram.cpp - Programs that walk their operands in order -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlatProgram.h"
#include "IterationSpace.h"
#include "ReductionKernel.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace cs336::cuda;

SmallVector<DeviceKernel> cs336::cuda::splitIndependentOutputs(const DeviceKernel &kernel) {
  func::FuncOp function = kernel.function;
  Block &body = function.getBody().front();
  llvm::EquivalenceClasses<Operation *> connected;
  // Stores that read the same tensor belong to one part, so that the tensor is read once. All parts may read single
  // elements.
  for (BlockArgument input : body.getArguments().take_front(kernel.numInputs)) {
    if (cast<RankedTensorType>(input.getType()).getNumElements() == 1)
      continue;
    SmallVector<Operation *> readers;
    for (Operation *user : input.getUsers())
      if (Operation *reader = body.findAncestorOpInBlock(*user); reader && reader != body.getTerminator())
        readers.push_back(reader);
    for (Operation *reader : readers)
      connected.unionSets(readers.front(), reader);
  }
  for (Operation &op : body.without_terminator()) {
    connected.insert(&op);
    // Bodies of loops also use values that are computed before the loops.
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        // Values that are computed from constants alone do not connect parts.
        if (producer && producer->getBlock() == &body && producer->getNumOperands() != 0)
          connected.unionSets(producer, &op);
      }
    });
  }

  SmallVector<DeviceKernel> parts;
  llvm::SmallDenseMap<Operation *, unsigned> partOfLeader;
  for (unsigned output : kernel.outputs) {
    Operation *producer = body.getTerminator()->getOperand(output).getDefiningOp();
    unsigned part = parts.size();
    if (producer)
      part = partOfLeader.try_emplace(connected.getLeaderValue(producer), part).first->second;
    if (part == parts.size())
      parts.emplace_back(kernel).outputs.clear();
    parts[part].outputs.push_back(output);
  }
  return parts;
}

namespace {
/// Checks a program of one dimension, and encodes its form.
class FlatReader {
public:
  FlatReader(const DeviceKernel &kernel, FlatProgram &flat, std::string &whyNot)
      : kernel(kernel), flat(flat), whyNot(whyNot) {}

  LogicalResult read();

private:
  LogicalResult readScalar(const Scalar &scalar);
  LogicalResult readAccess(unsigned operand, AffineExpr index);
  void append(const void *address) { flat.form.push_back(address); }
  void append(uintptr_t number) { append(reinterpret_cast<const void *>(number)); }
  LogicalResult refuse(const Twine &reason) {
    whyNot = reason.str();
    return failure();
  }

  const DeviceKernel &kernel;
  FlatProgram &flat;
  std::string &whyNot;
};
} // namespace

LogicalResult FlatReader::readAccess(unsigned operand, AffineExpr index) {
  bool isScalar = index.isSymbolicOrConstant();
  if (index != getAffineDimExpr(0, index.getContext()) && index != getAffineConstantExpr(0, index.getContext()))
    return refuse(Twine("does not access ") + kernel.getOperandName(operand) + " in the order of memory");
  auto *known = llvm::find(flat.operands, operand);
  unsigned role = known - flat.operands.begin();
  if (known == flat.operands.end()) {
    flat.operands.push_back(operand);
    flat.isScalar.push_back(isScalar);
  } else if (flat.isScalar[role] != isScalar) {
    return refuse(Twine("reads ") + kernel.getOperandName(operand) + " both as a scalar and element by element");
  }
  append(role);
  append(isScalar);
  append(kernel.operands[operand].getElementType().getAsOpaquePointer());
  return success();
}

LogicalResult FlatReader::readScalar(const Scalar &scalar) {
  if (scalar.box)
    return refuse("reads parts of operands only");
  append(scalar.type.getAsOpaquePointer());
  append(static_cast<uintptr_t>(scalar.kind));
  switch (scalar.kind) {
  case Scalar::Kind::Load:
    if (scalar.operand >= kernel.numInputs)
      return refuse("reads the initial value of an output");
    return readAccess(scalar.operand, scalar.index);
  case Scalar::Kind::Constant:
    append(scalar.constant.getAsOpaquePointer());
    return success();
  case Scalar::Kind::Reduced:
  case Scalar::Kind::Operation:
    append(scalar.op->getName().getAsOpaquePointer());
    append(scalar.op->getAttrDictionary().getAsOpaquePointer());
    append(scalar.operands.size());
    for (unsigned operand : scalar.operands)
      append(operand);
    return success();
  case Scalar::Kind::Index:
  case Scalar::Kind::Table:
  case Scalar::Kind::Gather:
  case Scalar::Kind::Choice:
    return refuse("computes with the indices of elements");
  }
  llvm_unreachable("all kinds are handled");
}

LogicalResult FlatReader::read() {
  if (flat.program.extents.size() != 1)
    return refuse("has " + Twine(flat.program.extents.size()) + " loops instead of one");
  append(flat.program.scalars.size());
  for (const Scalar &scalar : flat.program.scalars)
    if (failed(readScalar(scalar)))
      return failure();
  for (const Store &store : flat.program.stores) {
    append(store.value);
    if (failed(readAccess(store.operand, store.index)))
      return failure();
  }
  return success();
}

FailureOr<FlatProgram> FlatProgram::read(const DeviceKernel &kernel, std::string &whyNot) {
  auto shapes = llvm::map_range(kernel.outputs,
                                [&](unsigned output) { return kernel.operands[kernel.numInputs + output].getShape(); });
  if (!llvm::all_equal(shapes)) {
    whyNot = "has outputs of several shapes";
    return failure();
  }
  FailureOr<KernelProgram> program = KernelProgram::read(kernel, whyNot);
  if (failed(program))
    return failure();
  if (program->hasReductions()) {
    FailureOr<Reduction> reduction = Reduction::read(kernel, whyNot);
    if (failed(reduction))
      return failure();
    if (reduction->getNumPoints() != 1) {
      whyNot = "reduces to more than one element";
      return failure();
    }
    program = std::move(reduction->program);
  }
  mergeDimensions(*program);
  FlatProgram flat{std::move(*program), {}, {}, {}};
  if (failed(FlatReader(kernel, flat, whyNot).read()))
    return failure();
  return flat;
}
