//===- PeerFailure.h - Reports without the peer's cells ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PEER_PEERFAILURE_H
#define CS336_BENCH_PEER_PEERFAILURE_H

#include "cs336/Bench/Report/Cell.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// The exit code of a command that has measured its own cells, but lacks those of the peer.
inline constexpr int kPeerMissingExitCode = 2;

/// Returns the status of such a command: FAILED_PRECONDITION with the reason.
absl::Status makePeerMissing(const absl::Status &reason);
/// Returns whether `makePeerMissing` made the status.
bool isPeerMissing(const absl::Status &status);

/// Returns the cell in place of a time of the peer: "OOM", or "missing" with the reason as its footnote.
Cell makePeerFailure(const absl::Status &status);

} // namespace cs336::bench

#endif // CS336_BENCH_PEER_PEERFAILURE_H
