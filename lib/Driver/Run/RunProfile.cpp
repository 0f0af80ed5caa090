//===- RunProfile.cpp - Where the time of runs goes -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/RunProfile.h"

#include "cs336/runtime/CudaInfo.h"
#include "cs336/runtime/TraceRecorder.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using llvm::StringRef;

namespace {

class CommandProfiler : public RunProfiler {
public:
  explicit CommandProfiler(std::string note) : note(std::move(note)) {}

  runtime::RunObserver *getObserver() override { return &recorder; }
  absl::Status start(runtime::Session &session) override {
    recorder.Take();
    return absl::OkStatus();
  }
  absl::StatusOr<RunProfile> stop(runtime::Session &session) override {
    return RunProfile{recorder.Take(), std::nullopt, note};
  }

private:
  std::string note;
  runtime::TraceRecorder recorder;
};

/// Times the nodes of graphs. While it records, each run begins on the GPU only when its graph is enqueued: CUPTI makes
/// enqueueing slower, and a short step would otherwise wait for the host between kernels.
class GraphProfiler : public RunProfiler {
public:
  explicit GraphProfiler(std::unique_ptr<runtime::KernelProfiler> profiler) : profiler(std::move(profiler)) {}

  runtime::RunObserver *getObserver() override { return nullptr; }

  absl::Status start(runtime::Session &session) override {
    if (absl::Status status = session.Synchronize(); !status.ok())
      return status;
    if (absl::Status status = profiler->Start(); !status.ok())
      return status;
    return session.GateRuns(enqueueLimit);
  }

  absl::StatusOr<RunProfile> stop(runtime::Session &session) override {
    // Also if the runs have failed, because the caller may go on with the session.
    if (absl::Status status = session.GateRuns(absl::ZeroDuration()); !status.ok())
      return status;
    if (absl::Status status = session.Synchronize(); !status.ok())
      return status;
    absl::StatusOr<runtime::Trace> trace = profiler->Stop();
    if (!trace.ok())
      return trace.status();
    GraphWork work = summarizeGraphWork(*trace);
    return RunProfile{*std::move(trace), work, ""};
  }

private:
  /// The longest time that the GPU waits for the host in each run. A graph that the driver cannot queue as a whole is
  /// held back this long, and then runs as without a gate.
  static constexpr absl::Duration enqueueLimit = absl::Milliseconds(100);

  std::unique_ptr<runtime::KernelProfiler> profiler;
};

} // namespace

RunProfiler::~RunProfiler() = default;

absl::StatusOr<std::unique_ptr<RunProfiler>> RunProfiler::create(runtime::DeviceId device) {
  if (device.kind != runtime::DeviceKind::kCuda)
    return std::make_unique<CommandProfiler>("");
  // On a machine without a GPU, CUPTI itself reports an unknown error.
  if (absl::StatusOr<std::string> target = runtime::QueryCudaTarget(device.ordinal); !target.ok())
    return target.status();
  absl::StatusOr<std::unique_ptr<runtime::KernelProfiler>> profiler = runtime::KernelProfiler::Create();
  if (absl::IsNotFound(profiler.status()) || absl::IsFailedPrecondition(profiler.status()) ||
      absl::IsPermissionDenied(profiler.status()))
    return std::make_unique<CommandProfiler>(absl::StrCat(
        "commands were timed with events, one after the other and without graphs: ", profiler.status().message()));
  if (!profiler.ok())
    return profiler.status();
  return create(*std::move(profiler));
}

std::unique_ptr<RunProfiler> RunProfiler::create(std::unique_ptr<runtime::KernelProfiler> profiler) {
  return std::make_unique<GraphProfiler>(std::move(profiler));
}

std::vector<RunProfile::Row> RunProfile::getRows(ProfileKey key) const {
  constexpr char separator = '\n';
  auto getPhaseAndName = [&](const runtime::TraceSpan &span) {
    const runtime::TracedCommand *command = trace.FindCommand(span);
    return (command ? command->phase : "") + separator + getProfileKey(key, trace, span);
  };
  llvm::StringMap<std::set<std::string>> commands;
  if (key == ProfileKey::Kernel)
    for (const runtime::TraceSpan &span : trace.spans)
      if (const runtime::TracedCommand *command = trace.FindCommand(span))
        commands[getPhaseAndName(span)].insert(command->name);
  std::vector<Row> rows;
  for (runtime::SpanSummary &summary : runtime::SummarizeSpans(trace, getPhaseAndName)) {
    auto [phase, name] = StringRef(summary.key).split(separator);
    Row row{phase.str(), name.str(), {}, commands.lookup(summary.key)};
    row.times = std::move(summary);
    rows.push_back(std::move(row));
  }
  return rows;
}

GraphWork cs336::summarizeGraphWork(const runtime::Trace &trace) {
  GraphWork work;
  llvm::DenseSet<uint64_t> replayed;
  int64_t begin = 0, end = 0;
  for (const runtime::TraceSpan &node : trace.spans) {
    if (node.graph_node == 0)
      continue;
    ++work.nodes;
    work.nanoseconds += node.duration_ns;
    bool isNext = !replayed.empty() && !replayed.contains(node.graph_node);
    if (isNext) {
      work.idleNanoseconds += std::max<int64_t>(0, node.start_ns - end);
    } else {
      work.rangeNanoseconds += end - begin;
      replayed.clear();
      begin = end = node.start_ns;
    }
    replayed.insert(node.graph_node);
    end = std::max(end, node.start_ns + node.duration_ns);
  }
  work.rangeNanoseconds += end - begin;
  return work;
}
