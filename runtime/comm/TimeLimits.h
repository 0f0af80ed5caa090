//===- TimeLimits.h - Limits of time after a fault of a rank ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_TIMELIMITS_H
#define CS336_RUNTIME_COMM_TIMELIMITS_H

#include "absl/time/time.h"

#include <algorithm>

namespace cs336::runtime {

/// Divides the timeout of a group, in which all processes end after a fault of a rank. The longest sequence is: other
/// ranks miss the rank (wait), the failure spreads (settle), and the launcher ends the processes (grace, last_grace).
/// It takes 9/10 of the timeout; the rest is for the system's delays.
struct TimeLimits {
  explicit TimeLimits(absl::Duration timeout)
      : heartbeat(std::clamp(timeout / 30, absl::Milliseconds(10), absl::Seconds(1))), silence(timeout / 2),
        wait(timeout * 3 / 5), settle(std::min(timeout / 20, absl::Seconds(1))),
        abort(std::min(timeout / 12, absl::Seconds(1))), grace(timeout / 6), last_grace(timeout / 12) {}

  /// The time between two heartbeats.
  absl::Duration heartbeat;
  /// The time without a heartbeat after which the rendezvous treats a rank as failed. It is shorter than the next limit
  /// by more than two heartbeats, so that all ranks learn from the rendezvous which rank is silent.
  absl::Duration silence;
  /// The time for which a rank waits for another rank, or for a heartbeat of the rendezvous, and in which ranks join.
  absl::Duration wait;
  /// The time for which a rank that fails waits for the failure of the group, or for its last message to be sent.
  absl::Duration settle;
  /// The time that a GPU has to end collectives after a failure, and once more when the group is left.
  absl::Duration abort;
  /// The time that ranks have to end after a failure before they get SIGTERM, and from then before they are killed.
  absl::Duration grace, last_grace;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_TIMELIMITS_H
