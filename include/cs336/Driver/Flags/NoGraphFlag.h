//===- NoGraphFlag.h - Steps without CUDA graphs ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_NOGRAPHFLAG_H
#define CS336_DRIVER_FLAGS_NOGRAPHFLAG_H

#include "cs336/runtime/DeviceId.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

namespace cs336 {

/// `--no-graph`, for runs under Nsight Systems and Nsight Compute.
class NoGraphFlag : public llvm::cl::opt<bool> {
public:
  NoGraphFlag(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand);

  /// Returns INVALID_ARGUMENT if the flag is given for a device other than a GPU.
  absl::Status check(runtime::DeviceId device) const;
};

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_NOGRAPHFLAG_H
