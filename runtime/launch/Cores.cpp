//===- Cores.cpp - Cores of the ranks of a host ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Cores.h"

#include "status/StatusMacros.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace cs336::runtime {

namespace {

/// The cores of a rank, for the other ranks: ranks with equal values share their cores.
struct CoresOfRank {
  std::array<char, 40> host = {}; // The identity of the running kernel, a UUID, which containers of a host share.
  cpu_set_t cores;
};
static_assert(sizeof(CoresOfRank) % sizeof(int64_t) == 0, "ranks exchange integers");

CoresOfRank ReadCores() {
  CoresOfRank own;
  CPU_ZERO(&own.cores);
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen("/proc/sys/kernel/random/boot_id", "re"),
                                                        std::fclose);
  if (file)
    (void)!std::fread(own.host.data(), 1, own.host.size(), file.get());
  sched_getaffinity(0, sizeof(own.cores), &own.cores); // Fails if there are more cores than the set can hold.
  return own;
}

bool AreEqual(const CoresOfRank &a, const CoresOfRank &b) { return a.host == b.host && CPU_EQUAL(&a.cores, &b.cores); }

} // namespace

cpu_set_t ShareOfCores(const cpu_set_t &cores, int part, int parts) {
  cpu_set_t share;
  CPU_ZERO(&share);
  int count = CPU_COUNT(&cores);
  for (int core = 0, index = 0; core != CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores))
      continue;
    if (count < parts ? part % count == index : index * parts / count == part)
      CPU_SET(core, &share);
    ++index;
  }
  return share;
}

absl::Status BindToShareOfCores(Communicator &ranks) {
  CoresOfRank own = ReadCores();
  std::vector<CoresOfRank> all(ranks.size());
  CS336_RETURN_IF_ERROR(ranks.AllGather(&own, all.data(), sizeof(own) / sizeof(int64_t), DType::kI64));
  int part = 0, parts = 0;
  for (int rank = 0; rank != ranks.size(); ++rank) {
    if (!AreEqual(all[rank], own))
      continue;
    part += rank < ranks.rank();
    ++parts;
  }
  if (parts == 1 || CPU_COUNT(&own.cores) == 0)
    return absl::OkStatus();
  cpu_set_t share = ShareOfCores(own.cores, part, parts);
  sched_setaffinity(0, sizeof(share), &share); // Only for speed: the rank also runs if this fails.
  return absl::OkStatus();
}

} // namespace cs336::runtime
