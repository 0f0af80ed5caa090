//===- Overlap.cpp - Communication beside computation ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/Overlap.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>
#include <vector>

using namespace cs336;
using namespace cs336::bench;

Overlap &Overlap::operator+=(const Overlap &other) {
  communication += other.communication;
  compute += other.compute;
  exposed += other.exposed;
  return *this;
}

namespace {
/// The begin or the end of a span.
struct Edge {
  int64_t time;
  bool isCommunication;
  int change; // 1 for a begin, -1 for an end.
};
} // namespace

Overlap bench::computeOverlap(const runtime::Trace &trace) {
  Overlap overlap;
  std::vector<Edge> edges;
  for (const runtime::TraceSpan &span : trace.spans) {
    const runtime::TracedCommand *command = trace.FindCommand(span);
    if (!command)
      continue;
    bool isCommunication = command->phase == "communication";
    if (isCommunication)
      overlap.communication += span.duration_ns;
    edges.push_back({span.start_ns, isCommunication, 1});
    edges.push_back({span.start_ns + span.duration_ns, isCommunication, -1});
  }
  llvm::sort(edges, [](const Edge &a, const Edge &b) { return a.time < b.time; });
  int communicating = 0, computing = 0;
  // The end of the last computation, if there was one, and the time of communication alone since then.
  std::optional<int64_t> idleSince;
  int64_t last = 0, exposed = 0;
  for (const Edge &edge : edges) {
    if (computing > 0)
      overlap.compute += edge.time - last;
    else if (communicating > 0)
      exposed += edge.time - last;
    if (!edge.isCommunication && computing == 0) {
      if (!idleSince || edge.time - *idleSince > kLaunchNanoseconds)
        overlap.exposed += exposed;
      exposed = 0;
    }
    (edge.isCommunication ? communicating : computing) += edge.change;
    if (!edge.isCommunication && computing == 0)
      idleSince = edge.time;
    last = edge.time;
  }
  overlap.exposed += exposed;
  return overlap;
}
