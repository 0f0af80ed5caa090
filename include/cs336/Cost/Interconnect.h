//===- Interconnect.h - Predicted times of collectives ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of a collective by latency and bandwidth:
//
//   start + steps(link)·latency(link) + steps(network)·latency(network)
//         + max(bytes(link) / bandwidth(link), bytes(network) / bandwidth(network))
//
// The steps and bytes are those of ring algorithms (getRingSteps, getRingBytes). A group of n = h·m ranks, m on each of
// h hosts, takes one ring within each host and one between the hosts:
//
//   all-reduce of B bytes       ring of m, B bytes (reduce-scatter, then all-gather); ring of h, B/m bytes
//   all-gather, reduce-scatter  ring of m, B bytes; ring of h, B/m bytes
//   broadcast                   chain of m, B bytes; chain of h, B bytes
//   all-to-all                  B·(m - 1)/n bytes within the host, B·(n - m)/n between hosts
//
// The formula has the terms of NCCL's own cost model for rings (src/graph/tuning.cc: a base latency, a latency per
// step on the link and on the network, and bytes by bandwidth). As there, chunks of one collective are on both links at
// the same time, so that the slower link determines the time of large ones.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_COST_INTERCONNECT_H
#define CS336_COST_INTERCONNECT_H

#include "cs336/Dialect/CS336/IR/Collectives.h"

namespace cs336 {

/// Returns the number of steps of a ring algorithm, in each of which every rank sends to its neighbour: n - 1 for
/// `group` = n, and twice as many for an all-reduce, which is a reduce-scatter and an all-gather. 0 for one rank.
int64_t getRingSteps(CollectiveKind kind, int64_t group);

/// A connection on which each device sends and receives at the same time.
struct Link {
  /// Seconds of one step of a ring, without its bytes.
  double stepSeconds;
  /// Bytes per second that each device sends in large collectives: the "bus bandwidth" of nccl-tests.
  double bytesPerSecond;

  /// Returns the seconds of an algorithm that sends `bytes` per device in `steps` steps.
  double predict(int64_t steps, int64_t bytes) const {
    return static_cast<double>(steps) * stepSeconds + static_cast<double>(bytes) / bytesPerSecond;
  }
};

/// Ranks that take part in a collective: every `stride`-th rank. Ranks are placed on hosts in order.
struct RankGroup {
  int64_t size = 1, stride = 1;
};

/// The parts of a collective's time, in seconds.
struct CollectiveTime {
  double start = 0, latency = 0, transfer = 0;

  double getTotal() const { return start + latency + transfer; }
};

/// The links between devices.
struct Interconnect {
  /// Seconds of a collective before its first step.
  double startSeconds;
  /// Between the devices of a host, and between hosts, for each device.
  Link link, network;
  int64_t devicesPerHost;

  /// Returns the ranks of a group that share a host. Groups are divided into equal parts.
  int64_t getRanksPerHost(RankGroup group) const;
  /// Returns 0 for one rank. `bytes` are those of all parts and all buffers together, as getRingBytes takes them. The
  /// buffers of one command start together.
  CollectiveTime predict(CollectiveKind kind, RankGroup group, int64_t bytes) const;
};

} // namespace cs336

#endif // CS336_COST_INTERCONNECT_H
