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
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using llvm::StringRef;

namespace {

class CommandRunProfile : public RunProfile {
public:
  runtime::RunObserver *getObserver() override { return &profile; }
  absl::Status start(runtime::Session &session) override { return absl::OkStatus(); }
  absl::Status stop(runtime::Session &session) override {
    commands = summarizeCommands(profile);
    return absl::OkStatus();
  }
  std::optional<GraphWork> getGraphWork() const override { return std::nullopt; }
  void print(llvm::raw_ostream &stream, size_t most) const override { printCommands(commands, stream, most); }

private:
  runtime::CommandProfile profile;
  std::vector<CommandSummary> commands; // The profile's names end with the executable.
};

class KernelRunProfile : public RunProfile {
public:
  explicit KernelRunProfile(std::unique_ptr<runtime::KernelProfiler> profiler) : profiler(std::move(profiler)) {}

  runtime::RunObserver *getObserver() override { return nullptr; }

  absl::Status start(runtime::Session &session) override {
    if (absl::Status status = session.Synchronize(); !status.ok())
      return status;
    return profiler->Start();
  }

  absl::Status stop(runtime::Session &session) override {
    if (absl::Status status = session.Synchronize(); !status.ok())
      return status;
    absl::StatusOr<std::vector<runtime::KernelRecord>> records = profiler->Stop();
    if (!records.ok())
      return records.status();
    kernels = runtime::SummarizeKernels(*records);
    graphWork = summarizeGraphWork(*records);
    profiler.reset(); // Another may follow.
    return absl::OkStatus();
  }

  std::optional<GraphWork> getGraphWork() const override { return graphWork; }
  void print(llvm::raw_ostream &stream, size_t most) const override { printKernels(kernels, stream, most); }

private:
  std::unique_ptr<runtime::KernelProfiler> profiler;
  std::vector<runtime::KernelSummary> kernels;
  GraphWork graphWork;
};

} // namespace

RunProfile::~RunProfile() = default;

absl::StatusOr<std::unique_ptr<RunProfile>> RunProfile::create(runtime::DeviceId device) {
  if (device.kind != runtime::DeviceKind::kCuda)
    return std::make_unique<CommandRunProfile>();
  // CUPTI's own answer to a machine without a GPU is an unknown error.
  if (absl::StatusOr<std::string> target = runtime::QueryCudaTarget(device.ordinal); !target.ok())
    return target.status();
  absl::StatusOr<std::unique_ptr<runtime::KernelProfiler>> profiler = runtime::KernelProfiler::Create();
  if (!profiler.ok())
    return profiler.status();
  return std::make_unique<KernelRunProfile>(*std::move(profiler));
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

void cs336::printKernels(llvm::ArrayRef<runtime::KernelSummary> kernels, llvm::raw_ostream &stream, size_t most) {
  stream << "Time (%)  Total Time (ns)  Instances      Avg (ns)      Med (ns)    Min (ns)    Max (ns)  StdDev (ns)  "
            "Name\n";
  int64_t total = 0, instances = 0;
  for (auto [index, kernel] : llvm::enumerate(kernels)) {
    if (index < most)
      stream << llvm::formatv("{0,8:F1} {1,16} {2,10} {3,13:F1} {4,13:F1} {5,11} {6,11} {7,12:F1}  {8}\n",
                              100 * kernel.share, kernel.total, kernel.instances, kernel.average, kernel.median,
                              kernel.shortest, kernel.longest, kernel.standard_deviation, kernel.name);
    total += kernel.total;
    instances += kernel.instances;
  }
  stream << llvm::formatv("{0,8} {1,16} {2,10}\n", "all", total, instances);
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

void cs336::printCommands(llvm::ArrayRef<CommandSummary> commands, llvm::raw_ostream &stream, size_t most) {
  absl::Duration whole;
  for (const CommandSummary &command : commands)
    whole += command.total;
  stream << "  share   total (ms)    mean (ms)     runs  phase      command\n";
  for (const CommandSummary &command : commands.take_front(most)) {
    double milliseconds = absl::ToDoubleMilliseconds(command.total);
    double share = whole > absl::ZeroDuration() ? absl::FDivDuration(command.total, whole) : 0;
    stream << llvm::formatv("{0,7:P1} {1,12:F3} {2,12:F4} {3,8}  {4,-9}  {5}\n", share, milliseconds,
                            milliseconds / static_cast<double>(command.runs), command.runs, command.phase,
                            command.name);
  }
  stream << llvm::formatv("{0,7} {1,12:F3}\n", "all", absl::ToDoubleMilliseconds(whole));
}
