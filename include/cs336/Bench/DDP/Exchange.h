//===- Exchange.h - Collectives of a compiled entry -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_EXCHANGE_H
#define CS336_BENCH_DDP_EXCHANGE_H

#include "cs336/runtime/Executable.h"

#include <cstdint>

namespace cs336::bench {

/// The exchange between ranks in one run of an entry.
struct Exchange {
  int64_t collectives = 0;
  /// The all-gathers of parameters among them.
  int64_t gathers = 0;
  /// The bytes that each rank must send, as in the table of `cs336.collective`: for S bytes of all parts and n ranks,
  /// 2·S·(n − 1)/n for an all-reduce, S for a broadcast, and S·(n − 1)/n otherwise. 0 for one rank.
  double bytes = 0;
};

Exchange countExchange(const runtime::Executable &executable, const format::EntryT &entry);

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_EXCHANGE_H
