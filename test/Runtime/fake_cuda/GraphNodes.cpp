//===- GraphNodes.cpp - Nodes of the fake driver's graphs ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/Streams.h"

#include <algorithm>
#include <cstddef>
#include <cuda.h>
#include <vector>

using cs336::runtime::testing::CapturingStreams;
using cs336::runtime::testing::Pieces;

extern "C" {

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count) {
  *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  *id = 1;
  *graph = stream->capture;
  stream->info.clear();
  for (const auto &piece : stream->captured)
    stream->info.push_back(stream->capture->Find(piece));
  *nodes = stream->info.data();
  *edges = nullptr;
  *count = stream->info.size();
  return CUDA_SUCCESS;
}
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, const CUgraphEdgeData *, size_t count,
                                           unsigned flags) {
  if (!stream->capture || flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    return CUDA_ERROR_INVALID_VALUE;
  stream->captured.clear();
  for (CUgraphNode node : std::vector<CUgraphNode>(nodes, nodes + count))
    stream->captured.push_back(node->piece);
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  *type = node->fill ? CU_GRAPH_NODE_TYPE_MEMSET : CU_GRAPH_NODE_TYPE_KERNEL;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *fill) {
  *fill = node->fill.value();
  return CUDA_SUCCESS;
}
static CUresult Return(const std::vector<CUgraphNode> &found, CUgraphNode *nodes, size_t *count) {
  if (nodes)
    std::copy_n(found.begin(), *count, nodes);
  *count = found.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *, size_t *count) {
  std::vector<CUgraphNode> found;
  for (const auto &earlier : node->piece->after)
    found.push_back(node->graph->Find(earlier));
  return Return(found, nodes, count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *, size_t *count) {
  std::vector<CUgraphNode> found;
  for (CUgraphNode_st &other : node->graph->nodes)
    if (std::count(other.piece->after.begin(), other.piece->after.end(), node->piece) != 0)
      found.push_back(&other);
  return Return(found, nodes, count);
}
CUresult cuGraphAddDependencies(CUgraph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *,
                                size_t count) {
  for (size_t i = 0; i != count; ++i)
    to[i]->piece->after.push_back(from[i]->piece);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroyNode(CUgraphNode node) {
  CUgraph graph = node->graph;
  for (CUstream stream : CapturingStreams())
    if (stream->capture == graph)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (CUgraphNode_st &other : graph->nodes) {
    Pieces &after = other.piece->after;
    after.erase(std::remove(after.begin(), after.end(), node->piece), after.end());
  }
  graph->nodes.remove_if([&](const CUgraphNode_st &each) { return &each == node; });
  return CUDA_SUCCESS;
}

} // extern "C"
