//===- TunedSchedules.h - Schedules that were fastest -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file that `--autotune` writes and that `--cuda-select-schedules=tuned=FILE` reads:
//
//   {
//     "format": 1,
//     "device": "NVIDIA H200",
//     "architecture": "sm_90a",
//     "problems": {
//       "attention bf16, …": {
//         "schedules": [{"schedule": "attention", "forward": {"rows": 64, "tile": 64}}],
//         "microseconds": 51.5,
//         "default_microseconds": 60.25,
//         "kernels": "5f70bf18…"
//       }
//     }
//   }
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_TUNEDSCHEDULES_H
#define CS336_TARGET_CUDA_TUNEDSCHEDULES_H

#include "cs336/Target/CUDA/EmitCUDA.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>

namespace cs336::cuda {

/// The fastest of the schedules that were timed for a problem.
struct TunedSchedule {
  ScheduleSelection selection;
  /// The median time of a launch with this selection, and with the selection that is made without timing. The latter is
  /// 0 if that one did not run.
  double microseconds = 0, defaultMicroseconds = 0;
  /// A hash of what was timed: the kernels' texts and their compiler.
  std::string kernels;
};

/// Tuned schedules by problem (see TunableKernel), for one device. The attributes belong to the context with which they
/// were parsed or created.
class TunedSchedules {
public:
  /// `device` is the name of the GPU, such as "NVIDIA H200".
  TunedSchedules(std::string device, std::string architecture)
      : device(std::move(device)), architecture(std::move(architecture)) {}

  /// Fails with a reason, which completes the sentence "FILE: …", if the text has another form.
  static llvm::Expected<TunedSchedules> parse(llvm::StringRef text, mlir::MLIRContext *context);
  std::string print() const;

  llvm::StringRef getDevice() const { return device; }
  llvm::StringRef getArchitecture() const { return architecture; }

  /// Returns null if the problem has no schedule.
  const TunedSchedule *find(llvm::StringRef problem) const;
  void set(llvm::StringRef problem, TunedSchedule schedule);

private:
  std::string device, architecture;
  std::map<std::string, TunedSchedule, std::less<>> schedules;
};

} // namespace cs336::cuda

#endif // CS336_TARGET_CUDA_TUNEDSCHEDULES_H
