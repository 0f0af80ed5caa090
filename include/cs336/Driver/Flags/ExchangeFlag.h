//===- ExchangeFlag.h - How ranks on GPUs exchange data ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_EXCHANGEFLAG_H
#define CS336_DRIVER_FLAGS_EXCHANGEFLAG_H

#include "cs336/Support/EnumParser.h"
#include "cs336/runtime/DeviceId.h"
#include "cs336/runtime/GpuExchange.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

namespace cs336 {

/// `--exchange`.
class ExchangeFlag : public llvm::cl::opt<runtime::GpuExchange, false, EnumParser<runtime::GpuExchange>> {
public:
  ExchangeFlag(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand);

  /// Returns INVALID_ARGUMENT if the flag is given for a device other than a GPU.
  absl::Status check(runtime::DeviceId device) const;
};

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_EXCHANGEFLAG_H
