//===- Interconnect.cpp - Predicted times of collectives ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Cost/Interconnect.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace cs336;

int64_t cs336::getRingSteps(CollectiveKind kind, int64_t group) {
  return kind == CollectiveKind::AllReduce ? 2 * (group - 1) : group - 1;
}

int64_t Interconnect::getRanksPerHost(RankGroup group) const {
  int64_t most = std::max<int64_t>(1, devicesPerHost / group.stride);
  int64_t hosts = llvm::divideCeil(group.size, most);
  return llvm::divideCeil(group.size, hosts);
}

CollectiveTime Interconnect::predict(CollectiveKind kind, RankGroup group, int64_t bytes) const {
  if (group.size <= 1)
    return {};
  int64_t onHost = getRanksPerHost(group);
  int64_t hosts = llvm::divideCeil(group.size, onHost);
  // The bytes of all parts, within a host and between hosts.
  int64_t linkBytes = kind == CollectiveKind::AllToAll ? bytes / hosts : bytes;
  bool isDivided = kind != CollectiveKind::AllToAll && kind != CollectiveKind::Broadcast;
  int64_t networkBytes = isDivided ? bytes / onHost : bytes;
  CollectiveTime time;
  time.start = startSeconds;
  time.latency = static_cast<double>(getRingSteps(kind, onHost)) * link.stepSeconds +
                 static_cast<double>(getRingSteps(kind, hosts)) * network.stepSeconds;
  time.transfer = std::max(static_cast<double>(getRingBytes(kind, onHost, linkBytes)) / link.bytesPerSecond,
                           static_cast<double>(getRingBytes(kind, hosts, networkBytes)) / network.bytesPerSecond);
  return time;
}
