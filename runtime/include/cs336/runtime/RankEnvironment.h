//===- RankEnvironment.h - A process's place in a job -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_RANKENVIRONMENT_H
#define CS336_RUNTIME_RANKENVIRONMENT_H

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include <optional>
#include <string>
#include <vector>

namespace cs336::runtime {

/// The place of a process in a job of several ranks, and the point where they
/// meet.
struct RankEnvironment {
  int rank = 0;
  int size = 1;
  /// The rank among the processes of this host, and their number.
  int local_rank = 0;
  int local_size = 1;
  /// The host name or IP address, and the TCP port, of the rendezvous.
  std::string address = "127.0.0.1";
  int port = 0;
  /// The secret that admits a process to the group.
  std::string token;
  /// True if the process that started the ranks is the rendezvous; otherwise
  /// rank 0 is.
  bool is_hosted = false;
};

/// Returns the value of an environment variable, or null.
using GetVariable = absl::FunctionRef<const char *(const char *name)>;

/// Reads the place from the variables that torchrun, mpirun (Open MPI, MPICH)
/// or srun set, in this order. Returns nothing for a process that none of them
/// started, and for a job of one rank.
///
/// MASTER_ADDR and MASTER_PORT name the rendezvous: port 29500 of this host by
/// default, if all ranks are on it. CS336_TOKEN, of at least 16 characters, is
/// the token. Returns INVALID_ARGUMENT, with the variable, for values that are
/// missing, malformed or out of range.
absl::StatusOr<std::optional<RankEnvironment>> ReadRankEnvironment(GetVariable get);

/// Does the same with the environment variables of this process.
absl::StatusOr<std::optional<RankEnvironment>> ReadRankEnvironment();

/// Returns whether one of these launchers started the process, also in a job of one rank.
bool HasLauncher(GetVariable get);
bool HasLauncher();

/// Returns `NAME=VALUE` for each variable from which ReadRankEnvironment() reads
/// this place.
std::vector<std::string> ToVariables(const RankEnvironment &environment);

/// Returns 32 hexadecimal digits of the system's random numbers.
std::string CreateToken();

} // namespace cs336::runtime

#endif // CS336_RUNTIME_RANKENVIRONMENT_H
