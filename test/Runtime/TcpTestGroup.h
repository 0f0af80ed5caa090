//===- TcpTestGroup.h - Groups over TCP in one process ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_TCPTESTGROUP_H
#define CS336_TEST_RUNTIME_TCPTESTGROUP_H

#include "cs336/runtime/TcpGroup.h"

#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace cs336::runtime::testing {

/// Runs `body(rank)` on a thread per rank and returns what each returned.
inline std::vector<absl::Status> RunRanks(int ranks, const std::function<absl::Status(int)> &body) {
  std::vector<absl::Status> statuses(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank != ranks; ++rank)
    threads.emplace_back([&, rank] { statuses[rank] = body(rank); });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

/// Returns a place in a group whose rendezvous is `rendezvous`.
inline RankEnvironment PlaceOf(int rank, int size, const Rendezvous &rendezvous, std::string token) {
  RankEnvironment place;
  place.rank = place.local_rank = rank;
  place.size = place.local_size = size;
  place.port = rendezvous.port();
  place.token = std::move(token);
  place.is_hosted = true;
  return place;
}

/// The ranks of a group, and their rendezvous if it is apart from them.
struct TestGroup : std::vector<std::unique_ptr<Communicator>> {
  std::unique_ptr<Rendezvous> rendezvous;
};

/// Creates a group over TCP.
inline TestGroup CreateTcpGroup(int size, absl::Duration timeout = absl::Seconds(30)) {
  RendezvousOptions options;
  options.size = size;
  options.token = CreateToken();
  options.timeout = timeout;
  TestGroup group;
  group.rendezvous = *Rendezvous::Start(options);
  group.resize(size);
  for (const absl::Status &status : RunRanks(size, [&](int rank) {
         absl::StatusOr<std::unique_ptr<Communicator>> joined =
             JoinTcpGroup(PlaceOf(rank, size, *group.rendezvous, options.token), timeout);
         if (joined.ok())
           group[rank] = *std::move(joined);
         return joined.status();
       }))
    EXPECT_TRUE(status.ok()) << status;
  return group;
}

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_TCPTESTGROUP_H
