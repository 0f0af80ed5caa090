//===- RunProfile.cpp - Where the time of runs goes -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/RunProfile.h"

#include "cs336/runtime/CudaInfo.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace cs336;
using llvm::StringRef;

namespace {

class CommandProfiler : public RunProfiler {
public:
  runtime::RunObserver *getObserver() override { return &profile; }
  absl::Status start(runtime::Session &session) override {
    profile = runtime::CommandProfile();
    return absl::OkStatus();
  }
  absl::StatusOr<RunProfile> stop(runtime::Session &session) override {
    RunProfile result;
    result.commands = summarizeCommands(profile);
    return result;
  }

private:
  runtime::CommandProfile profile;
};

class GraphProfiler : public RunProfiler {
public:
  explicit GraphProfiler(std::unique_ptr<runtime::KernelProfiler> profiler) : profiler(std::move(profiler)) {}

  runtime::RunObserver *getObserver() override { return nullptr; }

  absl::Status start(runtime::Session &session) override {
    if (absl::Status status = session.Synchronize(); !status.ok())
      return status;
    return profiler->Start();
  }

  absl::StatusOr<RunProfile> stop(runtime::Session &session) override {
    if (absl::Status status = session.Synchronize(); !status.ok())
      return status;
    absl::StatusOr<std::vector<runtime::KernelRecord>> records = profiler->Stop();
    if (!records.ok())
      return records.status();
    RunProfile result;
    result.kernels = runtime::SummarizeKernels(*records);
    result.graphWork = summarizeGraphWork(*records);
    return result;
  }

private:
  std::unique_ptr<runtime::KernelProfiler> profiler;
};

} // namespace

RunProfiler::~RunProfiler() = default;

absl::StatusOr<std::unique_ptr<RunProfiler>> RunProfiler::create(runtime::DeviceId device) {
  if (device.kind != runtime::DeviceKind::kCuda)
    return std::make_unique<CommandProfiler>();
  // On a machine without a GPU, CUPTI itself reports an unknown error.
  if (absl::StatusOr<std::string> target = runtime::QueryCudaTarget(device.ordinal); !target.ok())
    return target.status();
  absl::StatusOr<std::unique_ptr<runtime::KernelProfiler>> profiler = runtime::KernelProfiler::Create();
  if (!profiler.ok())
    return profiler.status();
  return std::make_unique<GraphProfiler>(*std::move(profiler));
}

std::vector<RunProfile::Row> RunProfile::getRows() const {
  std::vector<Row> rows;
  for (const CommandSummary &command : commands)
    rows.push_back({command.phase, command.name, command.runs, absl::ToDoubleSeconds(command.total)});
  for (const runtime::KernelSummary &kernel : kernels)
    rows.push_back({"", kernel.name, kernel.instances, static_cast<double>(kernel.total) * 1e-9});
  return rows;
}

GraphWork cs336::summarizeGraphWork(llvm::ArrayRef<runtime::KernelRecord> records) {
  llvm::SmallVector<const runtime::KernelRecord *> nodes;
  for (const runtime::KernelRecord &record : records)
    if (record.graph_node != 0)
      nodes.push_back(&record);
  llvm::stable_sort(nodes, [](const auto *a, const auto *b) { return a->start_ns < b->start_ns; });

  GraphWork work;
  llvm::DenseSet<uint64_t> replayed;
  int64_t end = 0;
  for (const runtime::KernelRecord *node : nodes) {
    ++work.nodes;
    work.nanoseconds += node->duration_ns;
    bool isNext = !replayed.empty() && !replayed.contains(node->graph_node);
    if (!isNext)
      replayed.clear();
    else
      work.idleNanoseconds += std::max<int64_t>(0, node->start_ns - end);
    replayed.insert(node->graph_node);
    end = std::max(end, node->start_ns + node->duration_ns);
  }
  return work;
}

std::vector<CommandSummary> cs336::summarizeCommands(const runtime::CommandProfile &profile) {
  llvm::MapVector<std::pair<StringRef, StringRef>, CommandSummary> summaries;
  for (const runtime::CommandProfile::Row &row : profile.rows()) {
    StringRef phase(row.command.phase.data(), row.command.phase.size());
    StringRef name(row.command.name.data(), row.command.name.size());
    CommandSummary &summary = summaries[{phase, name}];
    summary.phase = phase.str();
    summary.name = name.str();
    summary.total += row.total;
    summary.runs += row.runs;
  }
  std::vector<CommandSummary> sorted;
  for (auto &[key, summary] : summaries)
    sorted.push_back(std::move(summary));
  llvm::stable_sort(sorted, [](const auto &a, const auto &b) { return a.total > b.total; });
  return sorted;
}
