//===- KernelTable.cpp - Distinct kernels of a module -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"

#include "cs336/Dialect/Exec/IR/KernelNames.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static FunctionType getSignature(const Group &group, ArrayRef<MemRefType> operandLayouts) {
  auto operands = llvm::map_to_vector(operandLayouts, [](MemRefType type) -> Type { return dropOffset(type); });
  auto results = llvm::map_to_vector(
      group.getOutputs(), [](Value value) -> Type { return getDenseType(cast<RankedTensorType>(value.getType())); });
  return FunctionType::get(group.getLoc().getContext(), operands, results);
}

/// Appends everything that distinguishes the operations of a region. The region reads no values from outside.
static void encodeRegion(Region &region, std::vector<const void *> &key) {
  llvm::DenseMap<Value, uintptr_t> numbers;
  auto number = [&](Value value) { numbers.try_emplace(value, numbers.size()); };
  for (Block &block : region) {
    for (BlockArgument argument : block.getArguments()) {
      key.push_back(argument.getType().getAsOpaquePointer());
      number(argument);
    }
    for (Operation &op : block) {
      key.push_back(op.getName().getAsOpaquePointer());
      key.push_back(op.getAttrDictionary().getAsOpaquePointer());
      for (Value result : op.getResults()) {
        key.push_back(result.getType().getAsOpaquePointer());
        number(result);
      }
      for (Value operand : op.getOperands())
        key.push_back(reinterpret_cast<const void *>(numbers.lookup(operand)));
    }
  }
}

/// Encodes everything that distinguishes kernels: types, operations, attributes, and the operands of each operation.
/// All of these are uniqued, so that their addresses identify them.
static std::vector<const void *> encode(const Group &group, FunctionType signature) {
  std::vector<const void *> key{signature.getAsOpaquePointer()};
  auto addNumber = [&](Value value) {
    key.push_back(reinterpret_cast<const void *>(static_cast<uintptr_t>(group.getNumber(value))));
  };
  for (Operation *op : group.getOps()) {
    key.push_back(op->getName().getAsOpaquePointer());
    key.push_back(op->getAttrDictionary().getAsOpaquePointer());
    for (Type type : op->getResultTypes())
      key.push_back(type.getAsOpaquePointer());
    llvm::for_each(op->getOperands(), addNumber);
    for (Region &region : op->getRegions())
      encodeRegion(region, key);
  }
  llvm::for_each(group.getOutputs(), addNumber);
  return key;
}

KernelOp KernelTable::create(const Group &group, FunctionType signature) {
  OpBuilder builder(signature.getContext());
  std::string description = describeOperations(group.getOps());
  auto kernel = KernelOp::create(builder, group.getLoc(), description, signature);
  Block &body = kernel.getBody().emplaceBlock();
  SmallVector<Value> values;
  for (Value input : group.getInputs())
    values.push_back(body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&body);
  for (Operation *op : group.getOps()) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, values[group.getNumber(operand)]);
    llvm::append_range(values, builder.clone(*op, mapping)->getResults());
  }
  auto outputs = llvm::map_to_vector(group.getOutputs(), [&](Value value) { return values[group.getNumber(value)]; });
  exec::YieldOp::create(builder, group.getLoc(), outputs);
  nameByContents(kernel, description);
  symbols.insert(kernel, position);
  return kernel;
}

KernelOp KernelTable::getOrCreate(const Group &group, ArrayRef<MemRefType> operandLayouts) {
  FunctionType signature = getSignature(group, operandLayouts);
  auto [found, isNew] = kernels.try_emplace(encode(group, signature));
  if (isNew)
    found->second = create(group, signature);
  return found->second;
}
