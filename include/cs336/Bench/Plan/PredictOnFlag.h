//===- PredictOnFlag.h - The device whose times are predicted ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_PREDICTONFLAG_H
#define CS336_BENCH_PLAN_PREDICTONFLAG_H

#include "cs336/Cost/DeviceModel.h"
#include "cs336/Driver/Flags/FlagParsers.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// `--predict-on`.
class PredictOnFlag {
public:
  PredictOnFlag(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand);

  /// Replaces the description in --help. `text` must outlive the flag.
  void setDescription(llvm::StringRef text) { name.setDescription(text); }

  /// Returns INVALID_ARGUMENT for an unknown device.
  absl::Status check() const;
  /// Returns the model that the flag names, or null.
  const DeviceModel *getDevice() const { return findDeviceModel(name.getValue()); }

private:
  TextFlag name;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_PREDICTONFLAG_H
