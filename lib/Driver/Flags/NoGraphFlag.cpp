//===- NoGraphFlag.cpp - Steps without CUDA graphs ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Flags/NoGraphFlag.h"

#include "cs336/Driver/Flags/GivenFlags.h"

using namespace cs336;
namespace cl = llvm::cl;

NoGraphFlag::NoGraphFlag(cl::OptionCategory &category, cl::SubCommand &subcommand)
    : opt("no-graph",
          cl::desc(
              "Launch commands one by one instead of as a CUDA graph, with an NVTX range for each phase, layer and "
              "operation, for nsys and ncu. These can record the timed steps alone (cudaProfilerApi)"),
          cl::cat(category), cl::sub(subcommand)) {}

absl::Status NoGraphFlag::check(runtime::DeviceId device) const {
  if (device.kind == runtime::DeviceKind::kCuda)
    return absl::OkStatus();
  return refuseFlag(*this, "only a GPU runs CUDA graphs; pass --device cuda");
}
