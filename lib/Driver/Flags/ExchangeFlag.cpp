//===- ExchangeFlag.cpp - How ranks on GPUs exchange data -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Flags/ExchangeFlag.h"

#include "cs336/Driver/Flags/GivenFlags.h"

using namespace cs336;
using runtime::GpuExchange;
namespace cl = llvm::cl;

ExchangeFlag::ExchangeFlag(cl::OptionCategory &category, cl::SubCommand &subcommand)
    : opt("exchange", cl::desc("How ranks on GPUs exchange data (default auto)"), cl::init(GpuExchange::kAuto),
          cl::values(
              clEnumValN(
                  GpuExchange::kAuto, "auto",
                  "peers if all GPUs can access each other's memory, apart from collectives that NCCL does faster; "
                  "otherwise nccl"),
              clEnumValN(GpuExchange::kNccl, "nccl", "NCCL"),
              clEnumValN(GpuExchange::kPeers, "peers",
                         "GPUs read and write each other's memory; NCCL does what they cannot")),
          cl::cat(category), cl::sub(subcommand)) {}

absl::Status ExchangeFlag::check(runtime::DeviceId device) const {
  if (device.kind == runtime::DeviceKind::kCuda)
    return absl::OkStatus();
  return refuseFlag(*this, "it requires --device cuda; memory or TCP connects ranks on the CPU");
}
