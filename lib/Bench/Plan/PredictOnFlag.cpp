//===- PredictOnFlag.cpp - The device whose times are predicted -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/PredictOnFlag.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;

PredictOnFlag::PredictOnFlag(cl::OptionCategory &category, cl::SubCommand &subcommand)
    : name("predict-on",
           cl::desc("Device whose rates predict times: h200 (default for --device cuda), h100, a100 or cpu"),
           cl::value_desc("name"), cl::cat(category), cl::sub(subcommand)) {}

absl::Status PredictOnFlag::check() const {
  if (name.getNumOccurrences() == 0 || getDevice())
    return absl::OkStatus();
  std::string known;
  for (const DeviceModel &model : getDeviceModels())
    absl::StrAppend(&known, known.empty() ? "" : ", ", model.name.str());
  return absl::InvalidArgumentError(absl::StrCat("--predict-on is '", name.getValue(), "', must be one of: ", known));
}
