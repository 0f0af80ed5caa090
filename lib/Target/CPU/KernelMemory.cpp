//===- KernelMemory.cpp - Elements of a kernel in memory ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace cs336::cpu;

/// Returns the type that is loaded and stored. For bf16 it is an integer: x86 has no bf16 registers before AVX512-BF16,
/// and LLVM splits vectors of bf16.
static Type getMemoryType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  return element;
}

/// Returns the scalar or vector type `like` with another element type.
static Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
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
      bases.push_back(buildTemporary(loc, storage, buffers));
      break;
    }
  }
}

Value KernelMemory::loadAddress(Location loc, unsigned position, Value buffers) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<LLVM::GEPArg> index = {static_cast<int32_t>(position)};
  Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, buffers, index);
  return LLVM::LoadOp::create(builder, loc, pointer, slot);
}

Value KernelMemory::buildOperand(Location loc, const Storage &storage, Value buffers) {
  Value address = loadAddress(loc, storage.operand, buffers);
  int64_t extent = 1;
  for (auto [size, stride] : llvm::zip_equal(storage.shape, storage.strides))
    extent += (size - 1) * stride;
  auto type = MemRefType::get({extent}, getMemoryType(storage.element));
  return UnrealizedConversionCastOp::create(builder, loc, type, address).getResult(0);
}

Value KernelMemory::buildConstant(Location loc, const Storage &storage) {
  auto function = builder.getInsertionBlock()->getParent()->getParentOfType<LLVM::LLVMFuncOp>();
  DenseElementsAttr values = storage.constant;
  if (storage.element.isInteger(1))
    values = values.mapValues(builder.getI8Type(), [](const APInt &bit) { return bit.zext(8); });
  else if (storage.element.isBF16())
    values = values.bitcast(builder.getI16Type());
  auto flat = RankedTensorType::get({values.getNumElements()}, values.getElementType());
  auto type = MemRefType::get(flat.getShape(), flat.getElementType());

  OpBuilder::InsertionGuard guard(builder);
  std::string name = (function.getSymName() + ".constant." + Twine(bases.size())).str();
  builder.setInsertionPoint(function);
  memref::GlobalOp::create(builder, loc, name, builder.getStringAttr("private"), type, values.reshape(flat),
                           /*constant=*/true, builder.getI64IntegerAttr(kStorageAlignment));
  builder.setInsertionPointToStart(&function.getBody().front());
  return memref::GetGlobalOp::create(builder, loc, type, name);
}

Value KernelMemory::buildTemporary(Location loc, const Storage &storage, Value buffers) {
  auto type = MemRefType::get({storage.elements}, getMemoryType(storage.element));
  if (plan.threadBytes == 0)
    return memref::AllocaOp::create(builder, loc, type, builder.getI64IntegerAttr(kStorageAlignment));
  Value memory = loadAddress(loc, plan.threadMemory, buffers);
  Value offset = LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(storage.offset));
  Value address = LLVM::GEPOp::create(builder, loc, memory.getType(), builder.getI8Type(), memory, offset);
  return UnrealizedConversionCastOp::create(builder, loc, type, address).getResult(0);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value KernelMemory::constant(Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value KernelMemory::add(Location loc, Value lhs, Value rhs) {
  return arith::AddIOp::create(builder, loc, lhs, rhs, arith::IntegerOverflowFlags::nsw);
}

Value KernelMemory::mul(Location loc, Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs
                  : arith::MulIOp::create(builder, loc, lhs, constant(loc, rhs), arith::IntegerOverflowFlags::nsw);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value KernelMemory::fromMemory(Location loc, Value value, unsigned storage) {
  Type type = withElement(value.getType(), plan.storages[storage].element);
  if (plan.storages[storage].element.isInteger(1))
    return arith::TruncIOp::create(builder, loc, type, value);
  if (plan.storages[storage].element.isBF16())
    return arith::BitcastOp::create(builder, loc, type, value);
  return value;
}

Value KernelMemory::toMemory(Location loc, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  Type type = withElement(value.getType(), getMemoryType(element));
  if (element.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, type, value);
  if (element.isBF16())
    return arith::BitcastOp::create(builder, loc, type, value);
  return value;
}

Value KernelMemory::load(Location loc, unsigned storage, Value index) {
  return fromMemory(loc, memref::LoadOp::create(builder, loc, bases[storage], index), storage);
}

void KernelMemory::store(Location loc, Value value, unsigned storage, Value index) {
  memref::StoreOp::create(builder, loc, toMemory(loc, value), bases[storage], index);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value KernelMemory::loadVector(Location loc, unsigned storage, Value index, int64_t stride, int64_t lanes) {
  auto type = VectorType::get(lanes, getMemoryType(plan.storages[storage].element));
  Value low = vector::LoadOp::create(builder, loc, type, bases[storage], index);
  if (stride == 1)
    return fromMemory(loc, low, storage);
  assert(stride == 2 && "no vector of elements that are farther apart");
  // Two vectors that overlap in one element end with the last lane's element: there may be none after it.
  Value middle = add(loc, index, constant(loc, lanes - 1));
  Value high = vector::LoadOp::create(builder, loc, type, bases[storage], middle);
  SmallVector<int64_t> picked;
  for (int64_t lane = 0; lane < lanes; ++lane)
    picked.push_back(2 * lane < lanes ? 2 * lane : 2 * lane + 1);
  return fromMemory(loc, vector::ShuffleOp::create(builder, loc, low, high, picked), storage);
}

void KernelMemory::storeVector(Location loc, Value value, unsigned storage, Value index) {
  vector::StoreOp::create(builder, loc, toMemory(loc, value), bases[storage], index);
}
