//===- TcpGroup.h - Ranks as processes --------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TCPGROUP_H
#define CS336_RUNTIME_TCPGROUP_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/RankEnvironment.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <functional>
#include <memory>
#include <string>

namespace cs336::runtime {

/// The time in which all ranks end after a fault of a rank. A rank may be silent for half of it, and the others wait
/// for it, or for a rank that has not arrived, for three fifths.
inline constexpr absl::Duration kDefaultRankTimeout = absl::Seconds(30);

struct RendezvousOptions {
  /// The name or the address on which to listen, and the port: 0 for any.
  std::string address = "127.0.0.1";
  int port = 0;
  int size = 1;
  std::string token;
  absl::Duration timeout = kDefaultRankTimeout;
  /// Called with the first failure, on another thread; may be null.
  std::function<void(const absl::Status &)> on_failure;
};

/// The server to which the ranks of a group connect, and which tells them when a rank has ended. A thread serves the
/// connections. It admits only processes that send the token. The group fails if a rank does not arrive, ends without
/// leaving, is silent for half of the timeout, or reports an error: all ranks then get the first failure.
class Rendezvous {
public:
  /// Starts to listen. Errors: UNAVAILABLE if the address or the port cannot be
  /// used, RESOURCE_EXHAUSTED if there are too many open files, or too little memory.
  static absl::StatusOr<std::unique_ptr<Rendezvous>> Start(RendezvousOptions options);

  virtual ~Rendezvous();

  virtual int port() const = 0;
  /// Ends the group for this reason, unless it has failed already.
  virtual void Fail(absl::Status reason) = 0;
};

/// Joins a group of processes that are connected by TCP. Waits up to three fifths of `timeout` until all ranks have
/// arrived. Rank 0 is the rendezvous, unless it is hosted. Collectives wait as long for a rank that sends nothing. They
/// send parts of each rank's block directly to the rank that reduces them.
///
/// A thread of each rank sends heartbeats. An error of a collective names the rank that caused it and ends the group on
/// all ranks. In a child that fork() makes, collectives return FAILED_PRECONDITION.
///
/// Errors: DEADLINE_EXCEEDED with the ranks that are missing, UNAVAILABLE if the rendezvous cannot be reached,
/// INVALID_ARGUMENT if it rejects this rank, RESOURCE_EXHAUSTED if there are too many open files, or too little memory.
absl::StatusOr<std::unique_ptr<Communicator>> JoinTcpGroup(const RankEnvironment &environment,
                                                           absl::Duration timeout = kDefaultRankTimeout);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TCPGROUP_H
