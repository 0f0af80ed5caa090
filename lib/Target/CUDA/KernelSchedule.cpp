//===- KernelSchedule.cpp - Ways to run a kernel on the GPU ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/KernelSchedule.h"

using namespace cs336::cuda;

std::string DeviceKernel::getOperandName(unsigned operand) const {
  return operand < numInputs ? "in" + std::to_string(operand) : "out" + std::to_string(operand - numInputs);
}

llvm::SmallVector<std::unique_ptr<KernelSchedule>> cs336::cuda::createKernelSchedules() {
  llvm::SmallVector<std::unique_ptr<KernelSchedule>> schedules;
  schedules.push_back(createTransposeSchedule());
  schedules.push_back(createPointwiseSchedule());
  schedules.push_back(createColumnReductionSchedule());
  schedules.push_back(createRowReductionSchedule());
  schedules.push_back(createSerialReductionSchedule());
  schedules.push_back(createScatterSchedule());
  return schedules;
}
