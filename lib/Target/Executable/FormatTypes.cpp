//===- FormatTypes.cpp - Types and attributes in terms of the file format -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/Executable/FormatTypes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace cs336;

format::DType cs336::toFormat(Type type) {
  if (type.isF64())
    return format::DType::f64;
  if (type.isF32())
    return format::DType::f32;
  if (type.isBF16())
    return format::DType::bf16;
  if (type.isF16())
    return format::DType::f16;
  if (type.isInteger(64))
    return format::DType::i64;
  if (type.isInteger(32))
    return format::DType::i32;
  assert(type.isInteger(1) && "buffers hold the dialect's element types only");
  return format::DType::i1;
}

static format::Swizzle toFormat(TensorMapRecipe::Swizzle swizzle) {
  switch (swizzle) {
  case TensorMapRecipe::Swizzle::None:
    return format::Swizzle::none;
  case TensorMapRecipe::Swizzle::Bytes32:
    return format::Swizzle::bytes_32;
  case TensorMapRecipe::Swizzle::Bytes64:
    return format::Swizzle::bytes_64;
  case TensorMapRecipe::Swizzle::Bytes128:
    return format::Swizzle::bytes_128;
  }
  llvm_unreachable("unknown swizzle");
}

static format::L2Promotion toFormat(TensorMapRecipe::L2Promotion promotion) {
  switch (promotion) {
  case TensorMapRecipe::L2Promotion::None:
    return format::L2Promotion::none;
  case TensorMapRecipe::L2Promotion::Bytes64:
    return format::L2Promotion::bytes_64;
  case TensorMapRecipe::L2Promotion::Bytes128:
    return format::L2Promotion::bytes_128;
  case TensorMapRecipe::L2Promotion::Bytes256:
    return format::L2Promotion::bytes_256;
  }
  llvm_unreachable("unknown L2 promotion");
}

std::unique_ptr<format::TensorMapT> cs336::toFormat(const TensorMapRecipe &map) {
  auto result = std::make_unique<format::TensorMapT>();
  result->operand = map.operand;
  result->offset = map.offset;
  result->dtype = toFormat(map.elementType);
  result->sizes.assign(map.sizes.begin(), map.sizes.end());
  result->strides.assign(map.strides.begin(), map.strides.end());
  result->box.assign(map.box.begin(), map.box.end());
  result->swizzle = ::toFormat(map.swizzle);
  result->promotion = ::toFormat(map.promotion);
  return result;
}

std::unique_ptr<format::TensorTypeT> cs336::toFormat(MemRefType type) {
  auto tensor = std::make_unique<format::TensorTypeT>();
  tensor->dtype = toFormat(type.getElementType());
  tensor->shape = type.getShape().vec();
  return tensor;
}

std::unique_ptr<format::InitT> cs336::toFormat(InitAttr init, exec::VariableKind variable) {
  auto result = std::make_unique<format::InitT>();
  if (!init) {
    result->kind = variable == exec::VariableKind::Parameter ? format::InitKind::none : format::InitKind::zeros;
    return result;
  }
  switch (init.getKind()) {
  case InitKind::Zeros:
    result->kind = format::InitKind::zeros;
    break;
  case InitKind::Ones:
    result->kind = format::InitKind::ones;
    break;
  case InitKind::TruncatedNormal:
    result->kind = format::InitKind::truncated_normal;
    break;
  case InitKind::Constant:
    result->kind = format::InitKind::constant;
    break;
  }
  result->value = init.getValue();
  result->std = init.getStd();
  result->cut = init.getCut();
  return result;
}

std::vector<std::unique_ptr<format::ViewT>> cs336::toFormat(ArrayAttr views) {
  std::vector<std::unique_ptr<format::ViewT>> result;
  if (!views)
    return result;
  int64_t row = 0;
  for (auto attribute : views.getAsRange<ViewAttr>()) {
    auto view = std::make_unique<format::ViewT>();
    view->name = attribute.getName().str();
    view->row_offset = row;
    view->rows = attribute.getRows();
    row += view->rows;
    result.push_back(std::move(view));
  }
  return result;
}

format::Mode cs336::toFormat(Mode mode) {
  switch (mode) {
  case Mode::Forward:
    return format::Mode::forward;
  case Mode::Loss:
    return format::Mode::loss;
  case Mode::ForwardBackward:
    return format::Mode::forward_backward;
  case Mode::Train:
    return format::Mode::train;
  case Mode::Prepare:
    return format::Mode::prepare;
  }
  llvm_unreachable("unknown mode");
}

format::Precision cs336::toFormat(Precision precision) {
  switch (precision) {
  case Precision::IEEE:
    return format::Precision::ieee;
  case Precision::TF32:
    return format::Precision::tf32;
  case Precision::TF32x3:
    return format::Precision::tf32x3;
  }
  llvm_unreachable("unknown precision");
}

format::CollectiveKind cs336::toFormat(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return format::CollectiveKind::all_reduce;
  case CollectiveKind::ReduceScatter:
    return format::CollectiveKind::reduce_scatter;
  case CollectiveKind::AllGather:
    return format::CollectiveKind::all_gather;
  case CollectiveKind::Broadcast:
    return format::CollectiveKind::broadcast;
  case CollectiveKind::AllToAll:
    return format::CollectiveKind::all_to_all;
  }
  llvm_unreachable("unknown kind of collective");
}

format::Reduction cs336::toFormat(CollectiveReduction reduction) {
  switch (reduction) {
  case CollectiveReduction::Sum:
    return format::Reduction::sum;
  case CollectiveReduction::Mean:
    return format::Reduction::mean;
  case CollectiveReduction::Max:
    return format::Reduction::max;
  }
  llvm_unreachable("unknown reduction");
}

format::VariableKind cs336::toFormat(exec::VariableKind kind) {
  switch (kind) {
  case exec::VariableKind::Parameter:
    return format::VariableKind::parameter;
  case exec::VariableKind::State:
    return format::VariableKind::state;
  case exec::VariableKind::Derived:
    return format::VariableKind::derived;
  }
  llvm_unreachable("unknown kind of variable");
}

format::Phase cs336::toFormat(exec::CommandPhase phase) {
  switch (phase) {
  case exec::CommandPhase::Forward:
    return format::Phase::forward;
  case exec::CommandPhase::Backward:
    return format::Phase::backward;
  case exec::CommandPhase::Optimizer:
    return format::Phase::optimizer;
  case exec::CommandPhase::Prepare:
    return format::Phase::prepare;
  case exec::CommandPhase::Communication:
    return format::Phase::communication;
  }
  llvm_unreachable("unknown phase");
}

format::Arithmetic cs336::toFormat(exec::Arithmetic arithmetic) {
  Type type = arithmetic.elementType;
  if (!type || !isa<FloatType>(type))
    return format::Arithmetic::none;
  if (type.isF64())
    return format::Arithmetic::f64;
  if (type.isBF16())
    return format::Arithmetic::bf16;
  if (type.isF16())
    return format::Arithmetic::f16;
  switch (arithmetic.precision) {
  case Precision::IEEE:
    return format::Arithmetic::f32;
  case Precision::TF32:
    return format::Arithmetic::tf32;
  case Precision::TF32x3:
    return format::Arithmetic::tf32x3;
  }
  llvm_unreachable("unknown precision");
}
