//===- KernelEmitter.h - The schedules and the text of a kernel -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_KERNELEMITTER_H
#define CS336_LIB_TARGET_CUDA_KERNELEMITTER_H

#include "DeviceSources.h"
#include "ScheduleSelection.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CUDA/KernelSchedule.h"
#include "cs336/Target/CUDA/TunableKernels.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace cs336::cuda {

/// The text of one kernel, without the files of runtime/kernels that it uses.
struct KernelText {
  std::string functions;
  DeviceSources sources;
  /// The functions of a launch; empty if no schedule accepts the kernel.
  llvm::SmallVector<KernelFunction> grids;
  int64_t workspaceBytes = 0;
  /// The fields are as in DeviceKernel.
  llvm::SmallVector<int64_t> alignments;
  ScheduleSelection schedules;
};

/// Outputs of one shape, and the schedule that computes them.
struct ScheduledPart {
  llvm::StringRef schedule;
  std::unique_ptr<ScheduledKernel> kernel;
};

/// The schedules of a kernel's parts, and the linalg form to which they refer. Without parts if no schedule accepts
/// one.
struct ScheduledParts {
  mlir::OwningOpRef<mlir::ModuleOp> linalgForm;
  DeviceKernel form;
  llvm::SmallVector<ScheduledPart> parts;

  /// Returns the bytes of a launch's workspace, which the parts share because they run one after the other.
  int64_t getWorkspaceBytes() const;
  /// Returns the schedules of the parts with the parameters that were chosen.
  ScheduleSelection getSelection() const;
};

/// A reason for which schedules reject a kernel, and the names of these schedules.
using Refusals = llvm::SmallVector<std::pair<std::string, std::string>>;

/// Schedules the kernels of a module for one target, and emits their text.
class KernelEmitter {
public:
  KernelEmitter(mlir::ModuleOp module, const TargetDescription &target)
      : target(target), ofOperations(createOperationSchedules(target)),
        wholeKernelSchedules(createWholeKernelSchedules(target)), schedules(createKernelSchedules(target)) {
    module.walk([&](exec::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
  }
  KernelEmitter(KernelEmitter &&) = default;

  /// Emits a kernel. The result has no grids if no schedule accepts a part of it; `whyNot` is then the reason.
  /// Thread-safe.
  mlir::FailureOr<KernelText> emit(exec::KernelOp kernel, std::string &whyNot) const;

  /// Returns the parts into which the kernel is split, by the kernel's selection for the target if it has one, without
  /// their text. Without parts if no schedule accepts one; `whyNot` is then the reason. Thread-safe.
  mlir::FailureOr<ScheduledParts> schedule(exec::KernelOp kernel, std::string &whyNot) const;

  /// Returns the kernel with its problem and its candidates; without candidates if it is not tuned.
  mlir::FailureOr<TunableKernel> listCandidates(exec::KernelOp kernel) const;

  const TargetDescription &getDescription() const { return target; }
  bool isLaunched(exec::KernelOp kernel) const { return launches.contains(kernel.getSymName()); }

private:
  mlir::FailureOr<DeviceKernel> readKernel(exec::KernelOp kernel, mlir::OpBuilder &builder) const;
  /// Splits the kernel into the necessary number of grids, by the kernel's selection for the target if it has one.
  /// Returns nothing if no schedule accepts a part; `whyNot` is then the reason.
  mlir::FailureOr<llvm::SmallVector<ScheduledPart>> scheduleParts(const DeviceKernel &kernel,
                                                                  std::string &whyNot) const;
  llvm::SmallVector<ScheduledPart> chooseParts(const DeviceKernel &kernel, std::string &whyNot) const;
  /// Returns a reason if a selected schedule does not exist, or "".
  std::string whyUnknown(const ScheduleSelection &selection) const;
  /// Returns nothing, with the reason in `whyNot`, if the kernel cannot have these schedules.
  llvm::SmallVector<ScheduledPart> selectParts(const DeviceKernel &kernel, const ScheduleSelection &selection,
                                               std::string &whyNot) const;
  /// Returns null if no schedule accepts the part; `whyNot` is then the reason.
  ScheduledPart schedulePart(const DeviceKernel &part, Refusals refusals, std::string &whyNot) const;
  void emitComment(exec::KernelOp kernel, const DeviceKernel &form, llvm::ArrayRef<ScheduledPart> parts,
                   const KernelText &text, llvm::raw_ostream &os) const;

  const TargetDescription &target;
  llvm::SmallVector<std::unique_ptr<KernelSchedule>> ofOperations;
  llvm::SmallVector<std::unique_ptr<KernelSchedule>> wholeKernelSchedules;
  llvm::SmallVector<std::unique_ptr<KernelSchedule>> schedules;
  llvm::StringMap<llvm::SmallVector<exec::LaunchOp>> launches;
};

/// Architectures with one description, and the emitter of kernels for them.
struct TargetEmitter {
  llvm::SmallVector<std::string> architectures;
  KernelEmitter emitter;
};

/// Returns an emitter per description of these architectures, in order; one for `portableTarget` if there are none.
std::vector<TargetEmitter> createEmitters(mlir::ModuleOp module, llvm::ArrayRef<std::string> architectures);

/// Calls `function` with the numbers up to `count`, in parallel if the context allows it. Diagnostics are emitted in
/// the order of the numbers.
mlir::LogicalResult forEachInParallel(mlir::MLIRContext *context, size_t count,
                                      llvm::function_ref<mlir::LogicalResult(size_t)> function);

/// Emits an error for a kernel that no schedule accepts, for the reason `whyNot`.
mlir::InFlightDiagnostic emitRefusal(exec::KernelOp kernel, llvm::StringRef whyNot);

/// Returns the alignment of element 0 of the buffer in bytes, at most that of storage.
int64_t getAlignment(mlir::MemRefType type);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_KERNELEMITTER_H
