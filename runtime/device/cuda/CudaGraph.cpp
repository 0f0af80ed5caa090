//===- CudaGraph.cpp - Many commands in one launch ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaGraph.h"

#include "profile/CommandScope.h"
#include "status/StatusMacros.h"

#include <utility>

namespace cs336::runtime {

namespace {

class GraphCommand : public PreparedCommand {
public:
  GraphCommand(const CudaContext &context, const PtxKernel &fill) : context_(context), fills_(context, fill) {}
  ~GraphCommand() override {
    if (context_.is_lost())
      return;
    CurrentContext current(context_);
    if (executable_)
      context_.driver().GraphExecDestroy(executable_).IgnoreError();
    if (graph_)
      context_.driver().GraphDestroy(graph_).IgnoreError();
  }

  absl::Status Capture(StreamSequence sequence, CudaEvent &begin, CudaEvent &end) {
    const DriverApi &driver = context_.driver();
    // Other threads may call CUDA freely meanwhile.
    CS336_RETURN_IF_ERROR(driver.StreamBeginCapture(context_.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    absl::Status status = begin.RecordInGraph(context_.stream());
    status.Update(sequence.ForEach([&](size_t i) {
      CommandScope scope(sequence.infos()[i]);
      CS336_RETURN_IF_ERROR(sequence.commands()[i]->Execute());
      return fills_.Replace();
    }));
    status.Update(end.RecordInGraph(context_.stream()));
    // Capturing must end in any case: otherwise the stream could never be used
    // again.
    absl::Status ended = driver.StreamEndCapture(context_.stream(), &graph_);
    CS336_RETURN_IF_ERROR(status);
    CS336_RETURN_IF_ERROR(ended);
    CS336_RETURN_IF_ERROR(fills_.Remove());
    // Collectives are in a stream of higher priority, which a graph ignores by default. The first launch uploads the
    // graph: one that was uploaded and is never launched delays the kernels of all others.
    return driver.GraphInstantiate(&executable_, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  }

  absl::Status Execute() override { return context_.driver().GraphLaunch(executable_, context_.stream()); }

private:
  const CudaContext &context_;
  FillNodes fills_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> CaptureGraph(const CudaContext &context, const PtxKernel &fill,
                                                              StreamSequence sequence, CudaEvent &begin,
                                                              CudaEvent &end) {
  CurrentContext current(context);
  CS336_RETURN_IF_ERROR(current.status());
  auto graph = std::make_unique<GraphCommand>(context, fill);
  CS336_RETURN_IF_ERROR(
      Annotate(graph->Capture(std::move(sequence), begin, end), "cannot capture its commands as a CUDA graph"));
  return graph;
}

} // namespace cs336::runtime
