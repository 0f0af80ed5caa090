//===- CommandWork.cpp - FLOPs and bytes of commands ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/Transforms/CommandWork.h"

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

void Work::operator+=(const Work &other) {
  launches += other.launches;
  gemms += other.gemms;
  others += other.others;
  flops += other.flops;
  bytes += other.bytes;
}

Value exec::getWorkspace(Operation *command) {
  if (auto launch = dyn_cast<LaunchOp>(command))
    return launch.getWorkspace();
  auto gemm = dyn_cast<GemmOp>(command);
  return gemm ? gemm.getWorkspace() : Value();
}

/// Counts distinct elements: an axis of stride 0 repeats them.
static int64_t getBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  BufferLayout layout(type);
  int64_t elements = 1;
  for (auto [size, stride] : llvm::zip_equal(layout.sizes, layout.strides))
    elements *= stride == 0 ? 1 : size;
  return elements * getElementBytes(type.getElementType());
}

/// Returns the most bytes that the operations of a kernel read of its argument.
static int64_t getArgumentBytes(BlockArgument argument) {
  int64_t most = getTensorBytes(argument), bytes = 0;
  for (OpOperand &use : argument.getUses()) {
    auto op = dyn_cast<CostOpInterface>(use.getOwner());
    bytes = std::min(bytes + (op ? op.getReadBytes(use) : most), most);
  }
  return bytes;
}

/// A multiply-add counts as two FLOPs.
static double getFlops(GemmOp gemm) {
  auto lhs = cast<MemRefType>(gemm.getLhs().getType()), output = cast<MemRefType>(gemm.getOutput().getType());
  return 2.0 * static_cast<double>(output.getNumElements()) * static_cast<double>(lhs.getShape().back());
}

const WorkCounter::KernelCost &WorkCounter::getCost(LaunchOp launch) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  auto [found, isNew] = kernels.try_emplace(kernel);
  KernelCost &cost = found->second;
  if (!isNew)
    return cost;
  double most = 0;
  for (auto op : kernel.getBody().getOps<CostOpInterface>()) {
    auto flops = static_cast<double>(op.getFlops());
    cost.flops += flops;
    if (flops <= most || op->getNumOperands() == 0)
      continue;
    most = flops;
    cost.arithmetic.elementType = getElementTypeOrSelf(op->getOperand(0).getType());
    auto precision = op->getAttrOfType<PrecisionAttr>("precision");
    cost.arithmetic.precision = precision ? precision.getValue() : Precision::IEEE;
  }
  return cost;
}

Work WorkCounter::measure(CommandOpInterface command) {
  Work work;
  if (command.getRecordedEvent() || command.getAwaitedEvent())
    return work;
  auto launch = dyn_cast<LaunchOp>(command.getOperation());
  auto kernel = launch ? symbols.lookup<KernelOp>(launch.getKernel()) : KernelOp();
  for (auto [position, buffer] : llvm::enumerate(command.getReads())) {
    int64_t bytes = getBytes(buffer);
    if (kernel)
      bytes = std::min(bytes, getArgumentBytes(kernel.getBody().getArgument(position)));
    work.bytes += static_cast<double>(bytes);
  }
  Value workspace = getWorkspace(command);
  for (Value buffer : command.getWrites())
    work.bytes += buffer == workspace ? 0 : static_cast<double>(getBytes(buffer));
  if (launch) {
    work.flops = getCost(launch).flops;
    work.launches = 1;
  } else if (auto gemm = dyn_cast<GemmOp>(command.getOperation())) {
    work.flops = getFlops(gemm);
    work.gemms = 1;
  } else {
    work.others = 1;
  }
  return work;
}

Arithmetic WorkCounter::getArithmetic(CommandOpInterface command) {
  if (auto launch = dyn_cast<LaunchOp>(command.getOperation()))
    return getCost(launch).arithmetic;
  if (auto gemm = dyn_cast<GemmOp>(command.getOperation()))
    return {cast<MemRefType>(gemm.getLhs().getType()).getElementType(), gemm.getPrecision()};
  return {};
}
