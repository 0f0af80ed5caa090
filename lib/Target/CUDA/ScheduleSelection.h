//===- ScheduleSelection.h - Selected schedules as attributes ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_SCHEDULESELECTION_H
#define CS336_LIB_TARGET_CUDA_SCHEDULESELECTION_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CUDA/EmitCUDA.h"
#include "cs336/Target/CUDA/TargetDescription.h"

#include <optional>

namespace cs336::cuda {

/// Returns the selection that `[{schedule = "attention", forward = {…}}]` stands for. Fails, without a diagnostic, if
/// the attribute is empty or has another form.
mlir::FailureOr<ScheduleSelection> readParts(mlir::ArrayAttr parts);

/// Returns the selection of the kernel's attribute `exec.schedules` for the target, or nullopt if it has none. Fails
/// with a diagnostic if the attribute has another form.
mlir::FailureOr<std::optional<ScheduleSelection>> readSelection(exec::KernelOp kernel, const TargetDescription &target);

/// Writes the selection for the target, beside those for other targets:
/// `{sm_80 = [{schedule = "attention", forward = {…}}]}`.
void writeSelection(exec::KernelOp kernel, const TargetDescription &target, const ScheduleSelection &selection);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_SCHEDULESELECTION_H
