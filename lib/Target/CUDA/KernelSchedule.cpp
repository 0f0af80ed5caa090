//===- KernelSchedule.cpp - Ways to run a kernel on the GPU ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/KernelSchedule.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"

#include "cs336/Codegen/KernelToLinalg.h"

#include <limits>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

FailureOr<DeviceKernel> DeviceKernel::read(exec::KernelOp kernel, OpBuilder &builder) {
  FailureOr<func::FuncOp> function = lowerKernelToLinalg(kernel, builder);
  if (failed(function))
    return failure();
  unsigned numInputs = kernel.getInTypes().size(), numOutputs = kernel.getOutTypes().size();
  DeviceKernel form{
      kernel, kernel.getSymName().str(), *function, {}, {}, numInputs, llvm::to_vector(llvm::seq(numOutputs))};
  for (Type type : llvm::concat<const Type>(kernel.getInTypes(), kernel.getOutTypes()))
    form.operands.push_back(cast<MemRefType>(type));
  form.alignments.assign(form.operands.size(), storageAlignment);
  return form;
}

bool DeviceKernel::updatesParameters() const {
  exec::KernelOp kernel = source;
  return !kernel.getBody().getOps<AdamWOp>().empty();
}

std::string DeviceKernel::getOperandName(unsigned operand) const {
  return operand < numInputs ? "in" + std::to_string(operand) : "out" + std::to_string(operand - numInputs);
}

std::unique_ptr<ScheduledKernel> cs336::cuda::requireGrid(std::unique_ptr<ScheduledKernel> kernel, std::string &whyNot,
                                                          StringRef reason) {
  auto exceedsGrid = [](const KernelFunction &function) {
    return function.blocks > std::numeric_limits<int32_t>::max();
  };
  if (!llvm::any_of(kernel->getFunctions(), exceedsGrid))
    return kernel;
  whyNot = reason.str();
  return nullptr;
}

llvm::SmallVector<std::unique_ptr<KernelSchedule>>
cs336::cuda::createOperationSchedules(const TargetDescription &target) {
  llvm::SmallVector<std::unique_ptr<KernelSchedule>> schedules;
  if (target.hasWgmma && target.hasTensorMaps) {
    schedules.push_back(createWarpgroupAttentionSchedule(target));
    schedules.push_back(createGradientUpdateSchedule(target));
  }
  schedules.push_back(createAttentionSchedule(target));
  schedules.push_back(createPlainAttentionSchedule());
  return schedules;
}

llvm::SmallVector<std::unique_ptr<KernelSchedule>>
cs336::cuda::createWholeKernelSchedules(const TargetDescription & /*target*/) {
  llvm::SmallVector<std::unique_ptr<KernelSchedule>> schedules;
  schedules.push_back(createBatchedSchedule());
  schedules.push_back(createBatchedReductionSchedule());
  schedules.push_back(createRowsSchedule());
  return schedules;
}

llvm::SmallVector<std::unique_ptr<KernelSchedule>>
cs336::cuda::createKernelSchedules(const TargetDescription & /*target*/) {
  llvm::SmallVector<std::unique_ptr<KernelSchedule>> schedules;
  schedules.push_back(createTransposeSchedule());
  schedules.push_back(createPointwiseSchedule());
  schedules.push_back(createColumnReductionSchedule());
  schedules.push_back(createRowReductionSchedule());
  schedules.push_back(createSerialReductionSchedule());
  schedules.push_back(createBucketedScatterSchedule());
  schedules.push_back(createScatterSchedule());
  return schedules;
}
