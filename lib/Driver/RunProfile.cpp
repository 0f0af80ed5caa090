//===- RunProfile.cpp - Where the time of runs goes -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/RunProfile.h"

#include "cs336/runtime/CudaInfo.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using llvm::StringRef;

namespace {

/// The time of all runs of a command.
struct Sum {
  absl::Duration total;
  int64_t runs = 0;
};

class CommandRunProfile : public RunProfile {
public:
  runtime::RunObserver *getObserver() override { return &profile; }
  absl::Status start(runtime::Session &session) override { return absl::OkStatus(); }
  absl::Status stop(runtime::Session &session) override { return session.Synchronize(); }
  void print(llvm::raw_ostream &stream) const override { printCommands(profile, stream); }

private:
  runtime::CommandProfile profile;
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
    return absl::OkStatus();
  }

  void print(llvm::raw_ostream &stream) const override { printKernels(kernels, stream); }

private:
  std::unique_ptr<runtime::KernelProfiler> profiler;
  std::vector<runtime::KernelSummary> kernels;
};

} // namespace

RunProfile::~RunProfile() = default;

absl::StatusOr<std::unique_ptr<RunProfile>> RunProfile::create(runtime::DeviceId device) {
  if (device.kind != runtime::DeviceKind::kCuda)
    return std::make_unique<CommandRunProfile>();
  // CUPTI's own answer to a machine without a GPU is an unknown error.
  if (absl::StatusOr<runtime::CudaInfo> info = runtime::QueryCuda(); !info.ok())
    return info.status();
  absl::StatusOr<std::unique_ptr<runtime::KernelProfiler>> profiler = runtime::KernelProfiler::Create();
  if (!profiler.ok())
    return profiler.status();
  return std::make_unique<KernelRunProfile>(*std::move(profiler));
}

void cs336::printKernels(llvm::ArrayRef<runtime::KernelSummary> kernels, llvm::raw_ostream &stream) {
  stream << "Time (%)  Total Time (ns)  Instances      Avg (ns)      Med (ns)    Min (ns)    Max (ns)  StdDev (ns)  "
            "Name\n";
  int64_t total = 0, instances = 0;
  for (const runtime::KernelSummary &kernel : kernels) {
    stream << llvm::formatv("{0,8:F1} {1,16} {2,10} {3,13:F1} {4,13:F1} {5,11} {6,11} {7,12:F1}  {8}\n",
                            100 * kernel.share, kernel.total, kernel.instances, kernel.average, kernel.median,
                            kernel.shortest, kernel.longest, kernel.standard_deviation, kernel.name);
    total += kernel.total;
    instances += kernel.instances;
  }
  stream << llvm::formatv("{0,8} {1,16} {2,10}\n", "all", total, instances);
}

void cs336::printCommands(const runtime::CommandProfile &profile, llvm::raw_ostream &stream) {
  llvm::MapVector<std::pair<StringRef, StringRef>, Sum> sums;
  absl::Duration whole;
  for (const runtime::CommandProfile::Row &row : profile.rows()) {
    StringRef phase(row.command.phase.data(), row.command.phase.size());
    StringRef name(row.command.name.data(), row.command.name.size());
    Sum &sum = sums[{phase, name}];
    sum.total += row.total;
    sum.runs += row.runs;
    whole += row.total;
  }
  auto sorted = sums.takeVector();
  llvm::stable_sort(sorted, [](const auto &a, const auto &b) { return a.second.total > b.second.total; });

  stream << "  share   total (ms)    mean (ms)     runs  phase      command\n";
  for (const auto &[key, sum] : sorted) {
    double milliseconds = absl::ToDoubleMilliseconds(sum.total);
    double share = whole > absl::ZeroDuration() ? absl::FDivDuration(sum.total, whole) : 0;
    stream << llvm::formatv("{0,7:P1} {1,12:F3} {2,12:F4} {3,8}  {4,-9}  {5}\n", share, milliseconds,
                            milliseconds / static_cast<double>(sum.runs), sum.runs, key.first, key.second);
  }
  stream << llvm::formatv("{0,7} {1,12:F3}\n", "all", absl::ToDoubleMilliseconds(whole));
}
