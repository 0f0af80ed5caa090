//===- KernelMemory.cpp - Elements of a kernel in memory ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace cs336::cpu;

/// Constants and temporaries start on a cache line, which is as wide as the widest vector.
static constexpr unsigned kAlignment = 64;

/// bf16 moves as an integer: LLVM does not vectorize it as the type that it is.
static Type getMemoryType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  return element;
}

KernelMemory::KernelMemory(const KernelPlan &plan, OpBuilder &builder, Location loc, Value buffers)
    : plan(plan), builder(builder) {
  for (const Storage &storage : plan.storages) {
    switch (storage.kind) {
    case Storage::Kind::Operand:
      bases.push_back(buildOperand(loc, storage, buffers));
      break;
    case Storage::Kind::Constant:
      bases.push_back(buildConstant(loc, storage));
      break;
    case Storage::Kind::Temporary:
      bases.push_back(buildTemporary(loc, storage));
      break;
    }
  }
}

Value KernelMemory::buildOperand(Location loc, const Storage &storage, Value buffers) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<LLVM::GEPArg> position = {static_cast<int32_t>(storage.operand)};
  Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, buffers, position);
  return LLVM::LoadOp::create(builder, loc, pointer, slot);
}

Value KernelMemory::buildConstant(Location loc, const Storage &storage) {
  auto function = builder.getInsertionBlock()->getParent()->getParentOfType<LLVM::LLVMFuncOp>();
  DenseElementsAttr values = storage.constant;
  if (storage.element.isInteger(1))
    values = values.mapValues(builder.getI8Type(), [](const APInt &bit) { return bit.zext(8); });
  // The shape does not matter to addresses, and LLVM's arrays have one dimension.
  auto flat = RankedTensorType::get({values.getNumElements()}, values.getElementType());
  auto array = LLVM::LLVMArrayType::get(values.getElementType(), values.getNumElements());

  OpBuilder::InsertionGuard guard(builder);
  std::string name = (function.getSymName() + ".constant." + Twine(bases.size())).str();
  builder.setInsertionPoint(function);
  auto global = LLVM::GlobalOp::create(builder, loc, array, /*isConstant=*/true, LLVM::Linkage::Private, name,
                                       values.reshape(flat), kAlignment);
  builder.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AddressOfOp::create(builder, loc, global);
}

Value KernelMemory::buildTemporary(Location loc, const Storage &storage) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value count = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), storage.elements);
  return LLVM::AllocaOp::create(builder, loc, pointer, getMemoryType(storage.element), count, kAlignment);
}

Value KernelMemory::constant(Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
}

Value KernelMemory::add(Location loc, Value lhs, Value rhs) {
  return arith::AddIOp::create(builder, loc, lhs, rhs, arith::IntegerOverflowFlags::nsw);
}

Value KernelMemory::mul(Location loc, Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs
                  : arith::MulIOp::create(builder, loc, lhs, constant(loc, rhs), arith::IntegerOverflowFlags::nsw);
}

Value KernelMemory::getAddress(Location loc, unsigned storage, Value index) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::GEPOp::create(builder, loc, pointer, getMemoryType(plan.storages[storage].element), bases[storage],
                             ValueRange(index), LLVM::GEPNoWrapFlags::inbounds);
}

Value KernelMemory::load(Location loc, unsigned storage, Value index, ArrayAttr accessGroups) {
  Type element = plan.storages[storage].element;
  auto load = LLVM::LoadOp::create(builder, loc, getMemoryType(element), getAddress(loc, storage, index));
  load.setAccessGroupsAttr(accessGroups);
  if (element.isInteger(1))
    return arith::TruncIOp::create(builder, loc, element, load);
  if (element.isBF16())
    return arith::BitcastOp::create(builder, loc, element, load);
  return load;
}

void KernelMemory::store(Location loc, Value value, unsigned storage, Value index, ArrayAttr accessGroups) {
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
  else if (value.getType().isBF16())
    value = arith::BitcastOp::create(builder, loc, builder.getI16Type(), value);
  auto store = LLVM::StoreOp::create(builder, loc, value, getAddress(loc, storage, index));
  store.setAccessGroupsAttr(accessGroups);
}
