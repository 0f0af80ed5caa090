//===- FillNodes.cpp - Fills of memory in CUDA graphs ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/FillNodes.h"

#include "status/StatusMacros.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cs336::runtime {

namespace {

constexpr unsigned kFillThreads = 512, kMostBlocks = 1024, kWordsPerThread = 4;

constexpr char kFillSource[] = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .entry fill_words(.param .u64 words, .param .u64 count, .param .u64 value)
{
  .reg .pred %is_outside;
  .reg .b32 %thread, %threads, %blocks, %value;
  .reg .b64 %words, %count, %index, %step, %address;

  ld.param.u64 %words, [words];
  cvta.to.global.u64 %words, %words;
  ld.param.u64 %count, [count];
  ld.param.u64 %address, [value];
  cvt.u32.u64 %value, %address;
  mov.u32 %threads, %ntid.x;
  mov.u32 %blocks, %ctaid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %thread, %blocks, %threads, %thread;
  cvt.u64.u32 %index, %thread;
  mov.u32 %blocks, %nctaid.x;
  mul.lo.u32 %threads, %threads, %blocks;
  cvt.u64.u32 %step, %threads;
next:
  setp.ge.u64 %is_outside, %index, %count;
  @%is_outside ret;
  mad.lo.u64 %address, %index, 4, %words;
  st.global.b32 [%address], %value;
  add.u64 %index, %index, %step;
  bra next;
}
)";

/// Words of 32 bits that get the same value.
struct WordFill {
  CUdeviceptr address;
  uint64_t words;
  uint32_t value;
};

std::optional<WordFill> AsWordFill(const CUDA_MEMSET_NODE_PARAMS &fill) {
  constexpr size_t kWord = sizeof(uint32_t);
  size_t row_bytes = fill.width * fill.elementSize;
  if (fill.height != 1 && fill.pitch != row_bytes)
    return std::nullopt;
  size_t bytes = row_bytes * fill.height;
  if (bytes % kWord != 0 || fill.dst % kWord != 0)
    return std::nullopt;
  uint32_t value = fill.elementSize == 1   ? (fill.value & 0xFF) * 0x01010101U
                   : fill.elementSize == 2 ? (fill.value & 0xFFFF) * 0x00010001U
                                           : fill.value;
  return WordFill{fill.dst, bytes / kWord, value};
}

} // namespace

absl::StatusOr<std::unique_ptr<PtxKernel>> LoadFillKernel(const CudaContext &context) {
  return PtxKernel::Load(context, kFillSource, "fill_words");
}

absl::Status FillNodes::Replace() {
  CS336_ASSIGN_OR_RETURN(Capture capture, ReadCapture());
  CS336_ASSIGN_OR_RETURN(std::vector<CUgraphNode> fills, FindFills(capture.last.nodes));
  for (CUgraphNode fill : fills) {
    CS336_ASSIGN_OR_RETURN(CUgraphNode kernel, AddKernel(capture.graph, fill));
    if (!kernel)
      continue;
    replaced_.push_back(fill);
    seen_.insert(kernel);
    std::replace(capture.last.nodes.begin(), capture.last.nodes.end(), fill, kernel);
    CS336_RETURN_IF_ERROR(SetLast(capture.last));
  }
  return absl::OkStatus();
}

absl::Status FillNodes::Remove() {
  for (CUgraphNode fill : replaced_)
    CS336_RETURN_IF_ERROR(context_.driver().GraphDestroyNode(fill));
  replaced_.clear();
  return absl::OkStatus();
}

absl::StatusOr<FillNodes::Capture> FillNodes::ReadCapture() const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  Capture capture = {};
  const CUgraphNode *nodes = nullptr;
  const CUgraphEdgeData *edges = nullptr;
  size_t count = 0;
  CS336_RETURN_IF_ERROR(
      context_.driver().StreamGetCaptureInfo(context_.stream(), &status, &id, &capture.graph, &nodes, &edges, &count));
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return absl::InternalError("the stream's capture has ended");
  capture.last.nodes.assign(nodes, nodes + count);
  capture.last.edges.resize(count);
  if (edges)
    std::copy_n(edges, count, capture.last.edges.begin());
  return capture;
}

absl::Status FillNodes::SetLast(const Nodes &last) const {
  std::vector<CUgraphNode> nodes = last.nodes;
  return context_.driver().StreamUpdateCaptureDependencies(context_.stream(), nodes.data(), last.edges.data(),
                                                           nodes.size(), CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

absl::StatusOr<FillNodes::Nodes> FillNodes::Dependencies(CUgraphNode node) const {
  size_t count = 0;
  CS336_RETURN_IF_ERROR(context_.driver().GraphNodeGetDependencies(node, nullptr, nullptr, &count));
  Nodes found = {std::vector<CUgraphNode>(count), std::vector<CUgraphEdgeData>(count)};
  if (count != 0)
    CS336_RETURN_IF_ERROR(
        context_.driver().GraphNodeGetDependencies(node, found.nodes.data(), found.edges.data(), &count));
  return found;
}

absl::StatusOr<std::vector<CUgraphNode>> FillNodes::Dependents(CUgraphNode node) const {
  size_t count = 0;
  CS336_RETURN_IF_ERROR(context_.driver().GraphNodeGetDependentNodes(node, nullptr, nullptr, &count));
  std::vector<CUgraphNode> found(count);
  std::vector<CUgraphEdgeData> edges(count);
  if (count != 0)
    CS336_RETURN_IF_ERROR(context_.driver().GraphNodeGetDependentNodes(node, found.data(), edges.data(), &count));
  return found;
}

absl::StatusOr<std::vector<CUgraphNode>> FillNodes::FindFills(const std::vector<CUgraphNode> &nodes) {
  std::vector<CUgraphNode> fills, next = nodes;
  while (!next.empty()) {
    CUgraphNode node = next.back();
    next.pop_back();
    if (!seen_.insert(node).second)
      continue;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CS336_RETURN_IF_ERROR(context_.driver().GraphNodeGetType(node, &type));
    if (type == CU_GRAPH_NODE_TYPE_MEMSET)
      fills.push_back(node);
    CS336_ASSIGN_OR_RETURN(Nodes before, Dependencies(node));
    next.insert(next.end(), before.nodes.begin(), before.nodes.end());
  }
  return fills;
}

absl::StatusOr<CUgraphNode> FillNodes::AddKernel(CUgraph graph, CUgraphNode fill) const {
  const DriverApi &driver = context_.driver();
  CUDA_MEMSET_NODE_PARAMS parameters = {};
  CS336_RETURN_IF_ERROR(driver.GraphMemsetNodeGetParams(fill, &parameters));
  std::optional<WordFill> words = AsWordFill(parameters);
  if (!words)
    return nullptr;
  // A capture records the launch with the properties of the stream, such as its priority.
  CS336_ASSIGN_OR_RETURN(Nodes before, Dependencies(fill));
  CS336_RETURN_IF_ERROR(SetLast(before));
  uint64_t threads = (words->words + kWordsPerThread - 1) / kWordsPerThread;
  auto blocks =
      static_cast<unsigned>(std::clamp<uint64_t>((threads + kFillThreads - 1) / kFillThreads, 1, kMostBlocks));
  CS336_RETURN_IF_ERROR(kernel_.Launch(blocks, kFillThreads, {words->address, words->words, words->value}));
  CS336_ASSIGN_OR_RETURN(Capture capture, ReadCapture());
  CUgraphNode kernel = capture.last.nodes.front();
  CS336_ASSIGN_OR_RETURN(std::vector<CUgraphNode> after, Dependents(fill));
  std::vector<CUgraphNode> from(after.size(), kernel);
  if (!after.empty())
    CS336_RETURN_IF_ERROR(driver.GraphAddDependencies(graph, from.data(), after.data(), nullptr, after.size()));
  return kernel;
}

} // namespace cs336::runtime
