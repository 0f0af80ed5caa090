//===- Exchange.cpp - Collectives of a compiled entry ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/Exchange.h"

#include "cs336/runtime/DType.h"

using namespace cs336;
using namespace cs336::bench;

static double getBytes(const format::BufferT &buffer) {
  auto bytes = static_cast<double>(runtime::ByteSize(runtime::ToDType(buffer.dtype)));
  for (int64_t size : buffer.shape)
    bytes *= static_cast<double>(size);
  return bytes;
}

/// Returns the bytes that a rank sends for one operand.
static double getSentBytes(format::CollectiveKind kind, const format::BufferT &source, double ranks) {
  double share = (ranks - 1) / ranks, bytes = getBytes(source);
  switch (kind) {
  case format::CollectiveKind::all_reduce:
    return 2 * share * bytes;
  case format::CollectiveKind::all_gather:
    return share * ranks * bytes; // The source is one part.
  case format::CollectiveKind::broadcast:
    return ranks > 1 ? bytes : 0;
  case format::CollectiveKind::reduce_scatter:
  case format::CollectiveKind::all_to_all:
    return share * bytes;
  }
  return 0;
}

Exchange bench::countExchange(const runtime::Executable &executable, const format::EntryT &entry) {
  Exchange exchange;
  auto ranks = static_cast<double>(executable.description().world_size);
  for (const auto &command : entry.commands) {
    const format::CollectiveT *collective = command->body.AsCollective();
    if (!collective)
      continue;
    ++exchange.collectives;
    exchange.gathers += collective->kind == format::CollectiveKind::all_gather;
    for (uint32_t source : collective->sources)
      exchange.bytes += getSentBytes(collective->kind, *entry.buffers[source], ranks);
  }
  return exchange;
}
