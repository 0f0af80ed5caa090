//===- FillNodes.h - Fills of memory in CUDA graphs -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some algorithms of cuBLASLt first fill a part of their workspace, which a
// capture records as a memset node. Such nodes have two disadvantages. A
// profiler runs graphs that have one with twice the time between all nodes. In
// a graph that exchanges data with other ranks, a memset node waited for
// exchanges that run beside it, 3.8 ms in a step of 24 ms. Kernels that fill
// the memory have neither.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_FILLNODES_H
#define CS336_RUNTIME_DEVICE_CUDA_FILLNODES_H

#include "device/cuda/CudaContext.h"
#include "device/cuda/PtxKernel.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cuda.h>
#include <memory>
#include <set>
#include <vector>

namespace cs336::runtime {

/// Loads the kernel that fills words of 32 bits.
absl::StatusOr<std::unique_ptr<PtxKernel>> LoadFillKernel(const CudaContext &context);

/// Replaces memset nodes of one graph by launches of a kernel.
class FillNodes {
public:
  /// The context must outlive the object. `kernel` is that of LoadFillKernel(), and must outlive the graph.
  FillNodes(const CudaContext &context, const PtxKernel &kernel) : context_(context), kernel_(kernel) {}

  /// Adds a kernel beside each memset node that was captured in the current
  /// stream since the last call. It follows what the memset follows, and what
  /// follows the memset follows the kernel. Fills that do not consist of whole
  /// aligned words of 32 bits without gaps stay as they are.
  absl::Status Replace();

  /// Removes the memset nodes that have kernels. The capture must have ended.
  absl::Status Remove();

private:
  /// Nodes with the properties of the edges from them.
  struct Nodes {
    std::vector<CUgraphNode> nodes;
    std::vector<CUgraphEdgeData> edges;
  };
  struct Capture {
    CUgraph graph;
    Nodes last; // Nodes that the next work of the stream follows.
  };
  absl::StatusOr<Capture> ReadCapture() const;
  absl::Status SetLast(const Nodes &last) const;
  absl::StatusOr<Nodes> Dependencies(CUgraphNode node) const;
  absl::StatusOr<std::vector<CUgraphNode>> Dependents(CUgraphNode node) const;

  /// Returns the memset nodes among `nodes` and what precedes them, except for
  /// nodes that were seen before.
  absl::StatusOr<std::vector<CUgraphNode>> FindFills(const std::vector<CUgraphNode> &nodes);
  /// Returns the kernel that replaces the fill, or null if there is none.
  absl::StatusOr<CUgraphNode> AddKernel(CUgraph graph, CUgraphNode fill) const;

  const CudaContext &context_;
  const PtxKernel &kernel_;
  std::set<CUgraphNode> seen_;
  std::vector<CUgraphNode> replaced_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_FILLNODES_H
