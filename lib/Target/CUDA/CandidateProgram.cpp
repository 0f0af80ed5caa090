//===- CandidateProgram.cpp - A program of one kernel ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

/// Returns the types of the operands. The schedules of a kernel depend on the least alignment of each operand in all
/// launches.
static SmallVector<MemRefType> getOperandTypes(exec::KernelOp kernel) {
  SmallVector<MemRefType> types;
  kernel->getParentOfType<ModuleOp>().walk([&](exec::LaunchOp launch) {
    if (launch.getKernel() != kernel.getSymName())
      return;
    auto operands = llvm::map_to_vector(llvm::concat<Value>(launch.getInputs(), launch.getOutputs()),
                                        [](Value operand) { return exec::bufferType(operand); });
    if (types.empty()) {
      types = operands;
      return;
    }
    for (auto [type, other] : llvm::zip_equal(types, operands))
      if (getAlignment(other) < getAlignment(type))
        type = other;
  });
  return types;
}

/// Returns the number of elements from the start of the storage to the last element of the buffer.
static int64_t countElements(MemRefType type) {
  exec::BufferLayout layout(type);
  int64_t elements = layout.offset + 1;
  for (auto [size, stride] : llvm::zip_equal(layout.sizes, layout.strides))
    elements += (size - 1) * stride;
  return elements;
}

/// Returns the storage of an input, as a new variable.
static Value addVariable(ImplicitLocOpBuilder &builder, ModuleOp module, const Twine &name, MemRefType type) {
  OpBuilder variables = OpBuilder::atBlockBegin(module.getBody());
  InitAttr init;
  if (isa<FloatType>(type.getElementType())) {
    constexpr double cut = 3; // Standard deviations beyond which values are drawn again.
    init = InitAttr::get(builder.getContext(), InitKind::TruncatedNormal, /*std=*/1.0, cut, 0.0);
  }
  auto variable = exec::VariableOp::create(variables, builder.getLoc(), name.str(), exec::VariableKind::State, type,
                                           ArrayAttr(), init, /*shards=*/IntegerAttr());
  return exec::GetOp::create(builder, type, variable.getSymName());
}

OwningOpRef<ModuleOp> cs336::cuda::buildCandidate(exec::KernelOp kernel, const ScheduleSelection &selection,
                                                  StringRef architecture) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  ImplicitLocOpBuilder builder(kernel.getLoc(), kernel.getContext());
  builder.setInsertionPointToEnd(module->getBody());
  auto copy = cast<exec::KernelOp>(builder.clone(*kernel));
  // The name is part of the kernel's text, which equal problems share.
  copy.setSymName("candidate");
  writeSelection(copy, getTarget(architecture), selection);
  auto entry = exec::EntryOp::create(builder, "forward", Mode::Forward, /*arena_bytes=*/IntegerAttr(),
                                     /*alignment=*/IntegerAttr());
  builder.setInsertionPointToStart(&entry.getBody().emplaceBlock());
  SmallVector<Value> operands;
  size_t numInputs = kernel.getInTypes().size();
  for (auto [number, type] : llvm::enumerate(getOperandTypes(kernel))) {
    auto storageType = MemRefType::get(countElements(type), type.getElementType());
    Value storage = number < numInputs ? addVariable(builder, *module, "in" + Twine(number), storageType)
                                       : Value(exec::AllocOp::create(builder, storageType, /*offset=*/IntegerAttr()));
    operands.push_back(exec::createView(builder, builder.getLoc(), storage, type));
  }
  exec::LaunchOp::create(builder, FlatSymbolRefAttr::get(copy), ArrayRef(operands).take_front(numInputs),
                         ArrayRef(operands).drop_front(numInputs));
  return module;
}

std::string cs336::cuda::describeSelection(const ScheduleSelection &selection) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(selection, os, [&](const SelectedSchedule &part) {
    os << part.name;
    if (part.parameters)
      os << " " << part.parameters;
  });
  return text;
}
