//===- Trace.cpp - What a device ran, and when ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Trace.h"

namespace cs336::runtime {

TracedCommand::TracedCommand(const CommandInfo &info)
    : index(info.index), stream(info.stream), entry(info.entry), name(info.name), source(info.source),
      layer(info.layer), phase(info.phase), kind(info.kind), location(info.location), flops(info.flops),
      bytes(info.bytes), live_bytes(info.live_bytes), arithmetic(info.arithmetic) {}

const TracedCommand *Trace::FindCommand(const TraceSpan &span) const {
  return span.command == TraceSpan::kNoCommand ? nullptr : &commands[span.command];
}

} // namespace cs336::runtime
