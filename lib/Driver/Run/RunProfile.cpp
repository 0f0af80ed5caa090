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
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <utility>

using namespace cs336;
using llvm::StringRef;

namespace {

class CommandProfiler : public RunProfiler {
public:
  explicit CommandProfiler(std::string note) : note(std::move(note)) {}

  runtime::RunObserver *getObserver() override { return &recorder; }

private:
  RunProfile makeProfile() const override {
    RunProfile profile;
    profile.note = note;
    return profile;
  }
  absl::Status begin(runtime::Session &session) override {
    recorder.Take();
    return absl::OkStatus();
  }
  int64_t countSpans() const override { return recorder.CountSpans(); }
  absl::StatusOr<runtime::Trace> take(runtime::Session &session) override { return recorder.Take(); }
  absl::StatusOr<runtime::Trace> end(runtime::Session &session) override { return recorder.Take(); }

  std::string note;
  runtime::TraceRecorder recorder;
};

/// Times the nodes of graphs. While it records, each run begins on the GPU only when its graph is enqueued: CUPTI makes
/// enqueueing slower, and a short step would otherwise wait for the host between kernels.
class GraphProfiler : public RunProfiler {
public:
  explicit GraphProfiler(std::unique_ptr<runtime::KernelProfiler> profiler) : profiler(std::move(profiler)) {}

  runtime::RunObserver *getObserver() override { return nullptr; }

private:
  RunProfile makeProfile() const override {
    RunProfile profile;
    profile.graphWork.emplace();
    return profile;
  }

  absl::Status begin(runtime::Session &session) override {
    if (absl::Status status = session.Synchronize(); !status.ok())
      return status;
    if (absl::Status status = profiler->Start(); !status.ok())
      return status;
    return session.GateRuns(enqueueLimit);
  }

  int64_t countSpans() const override { return profiler->CountSpans(); }

  absl::StatusOr<runtime::Trace> take(runtime::Session &session) override {
    if (absl::Status status = session.Synchronize(); !status.ok())
      return status;
    return profiler->Take();
  }

  absl::StatusOr<runtime::Trace> end(runtime::Session &session) override {
    // Also if the runs have failed, because the caller may go on with the session.
    if (absl::Status status = session.GateRuns(absl::ZeroDuration()); !status.ok())
      return status;
    if (absl::Status status = session.Synchronize(); !status.ok())
      return status;
    return profiler->Stop();
  }

  /// The longest time that the GPU waits for the host in each run. A graph that the driver cannot queue as a whole is
  /// held back this long, and then runs as without a gate.
  static constexpr absl::Duration enqueueLimit = absl::Milliseconds(100);

  std::unique_ptr<runtime::KernelProfiler> profiler;
};

} // namespace

//===----------------------------------------------------------------------===//
// RunProfiler
//===----------------------------------------------------------------------===//

RunProfiler::~RunProfiler() = default;

absl::Status RunProfiler::start(runtime::Session &session, Consumer newConsumer) {
  profile = makeProfile();
  consumer = std::move(newConsumer);
  return begin(session);
}

void RunProfiler::add(const runtime::Trace &part) {
  profile.add(part);
  if (consumer)
    consumer(part);
}

absl::Status RunProfiler::collect(runtime::Session &session) {
  if (countSpans() < kPartSpans)
    return absl::OkStatus();
  absl::StatusOr<runtime::Trace> part = take(session);
  if (part.ok())
    add(*part);
  return part.status();
}

absl::StatusOr<RunProfile> RunProfiler::stop(runtime::Session &session) {
  absl::StatusOr<runtime::Trace> part = end(session);
  if (part.ok())
    add(*part);
  consumer = nullptr;
  RunProfile complete = std::exchange(profile, {});
  if (!part.ok())
    return part.status();
  return complete;
}

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

//===----------------------------------------------------------------------===//
// RunProfile
//===----------------------------------------------------------------------===//

void RunProfile::add(const runtime::Trace &part) {
  commands = part.commands;
  names = part.names;
  for (size_t command = paths.size(); command < commands.size(); ++command)
    paths.push_back(getRangePath(&commands[command]));
  for (const runtime::TraceSpan &span : part.spans) {
    auto [found, isNew] = positions.try_emplace({span.name, span.command, span.graph_node}, groups.size());
    if (isNew)
      groups.push_back({span.name, span.command, span.graph_node});
    groups[found->second].times.add(span.duration_ns);
    StringRef path = span.command == runtime::TraceSpan::kNoCommand ? StringRef() : paths[span.command];
    if (path != lastPath) {
      ++entered[path];
      lastPath = path.str();
    }
  }
  if (graphWork)
    *graphWork += summarizeGraphWork(part);
}

const runtime::TracedCommand *RunProfile::findCommand(const Group &group) const {
  return group.command == runtime::TraceSpan::kNoCommand ? nullptr : &commands[group.command];
}

int64_t RunProfile::getInstances() const {
  int64_t instances = 0;
  for (const Group &group : groups)
    instances += group.times.getInstances();
  return instances;
}

int64_t RunProfile::getNanoseconds() const {
  int64_t nanoseconds = 0;
  for (const Group &group : groups)
    nanoseconds += group.times.getTotal();
  return nanoseconds;
}

bool RunProfile::hasEstimatedMedians() const {
  return llvm::any_of(groups, [](const Group &group) { return group.times.isMedianEstimated(); });
}

std::vector<RunProfile::Row> RunProfile::getRows(ProfileKey key) const {
  std::map<std::pair<std::string, std::string>, Row> byKey;
  for (const Group &group : groups) {
    const runtime::TracedCommand *command = findCommand(group);
    std::string phase = command ? command->phase : "", name = getProfileKey(key, command, getName(group));
    Row &row = byKey[{phase, name}];
    row.phase = std::move(phase);
    row.name = std::move(name);
    row.times.add(group.times);
    if (key == ProfileKey::Kernel && command)
      row.commands.insert(command->name);
  }
  auto whole = static_cast<double>(getNanoseconds());
  std::vector<Row> rows;
  for (auto &[phaseAndName, row] : byKey) {
    row.share = whole > 0 ? static_cast<double>(row.times.getTotal()) / whole : 0;
    rows.push_back(std::move(row));
  }
  llvm::stable_sort(rows, [](const Row &a, const Row &b) { return a.times.getTotal() > b.times.getTotal(); });
  return rows;
}

//===----------------------------------------------------------------------===//
// GraphWork
//===----------------------------------------------------------------------===//

GraphWork &GraphWork::operator+=(const GraphWork &other) {
  nodes += other.nodes;
  nanoseconds += other.nanoseconds;
  idleNanoseconds += other.idleNanoseconds;
  rangeNanoseconds += other.rangeNanoseconds;
  return *this;
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
