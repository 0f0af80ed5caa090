//===- DeviceOfRank.h - Device of a rank ------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_DEVICEOFRANK_H
#define CS336_BENCH_COMMAND_DEVICEOFRANK_H

#include "cs336/runtime/RankEnvironment.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace cs336::bench {

/// Returns the device of a rank's session: "cuda" stands for the GPU with the rank's number on its host. Other names
/// are unchanged.
inline std::string getDeviceOfRank(llvm::StringRef device, const runtime::RankEnvironment &place) {
  return device == "cuda" ? "cuda:" + std::to_string(place.local_rank) : device.str();
}

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_DEVICEOFRANK_H
