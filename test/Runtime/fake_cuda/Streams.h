//===- Streams.h - Streams, events and graphs of the fake driver --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_STREAMS_H
#define CS336_TEST_RUNTIME_STREAMS_H

#include "fake_cuda/PendingWork.h"

#include <algorithm>
#include <cuda.h>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <vector>

// The objects behind the driver's opaque handles.
struct CUgraphNode_st {
  CUgraph graph;
  std::shared_ptr<cs336::runtime::testing::Piece> piece;
  std::optional<CUDA_MEMSET_NODE_PARAMS> fill; // Present for a memset node.
};
struct CUgraph_st {
  std::list<CUgraphNode_st> nodes;

  CUgraphNode Find(const std::shared_ptr<cs336::runtime::testing::Piece> &piece) {
    auto found = std::find_if(nodes.begin(), nodes.end(), [&](const auto &node) { return node.piece == piece; });
    return found == nodes.end() ? nullptr : &*found;
  }
};
struct CUgraphExec_st {
  cs336::runtime::testing::Pieces nodes;
};
struct CUstream_st {
  CUgraph capture = nullptr;
  bool is_joined = true;                            // False while work of a capture must still be waited for.
  cs336::runtime::testing::Pieces latest, captured; // What the next work follows, outside of a capture and in it.
  std::vector<CUgraphNode> info;                    // What the driver last told about the capture.

  cs336::runtime::testing::Pieces &last() { return capture ? captured : latest; }
};
struct CUevent_st {
  bool in_default_stream = false;
  CUstream stream = nullptr;            // Whose work it follows.
  CUgraph capture = nullptr;            // The capture of that stream then.
  cs336::runtime::testing::Pieces last; // What that stream's next work followed then.
  bool is_of_graph = false;             // A node of a graph records it.
  int host_functions = 0;               // Enqueued before it.
};

namespace cs336::runtime::testing {

/// Streams that take part in captures.
std::set<CUstream> &CapturingStreams();

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_STREAMS_H
