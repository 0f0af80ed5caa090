//===- AllReduceBenchmark.cpp - Times of collectives ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/AllReduce/AllReduceBenchmark.h"

#include "cs336/Bench/AllReduce/CollectiveProgram.h"
#include "cs336/Driver/Flags/DeviceFlag.h"
#include "cs336/runtime/Session.h"
#include "llvm/ADT/STLExtras.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

using namespace cs336;
using namespace cs336::bench;
using namespace cs336::runtime;

using Clock = std::chrono::steady_clock;

static double getMilliseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Returns the number of collectives in a timed run. On a GPU, the start of a run and the ranks' different starts take
/// as long as small collectives.
static int64_t getChain(const CollectiveCase &one, DeviceId device) {
  constexpr int64_t kSmallBytes = 16 << 20, kSmallChain = 10;
  return device.kind == DeviceKind::kCuda && one.getBytes() < kSmallBytes ? kSmallChain : 1;
}

/// Runs one case and checks its result, then runs it in chains and times them.
static absl::StatusOr<AllReduceTimes> measureOne(Session &session, Communicator &communicator,
                                                 const CollectiveCase &one, size_t i, int64_t chain,
                                                 const AllReducePlan &plan) {
  AllReduceTimes result{one, {}, 0};
  {
    absl::StatusOr<Tensor> source = makeSource(one, communicator.rank(), communicator.size());
    if (!source.ok())
      return source.status();
    absl::Status status = session.SetVariable(getSourceName(i), *source);
    if (status.ok())
      status = session.Run(getCheckEntry(i), {});
    if (!status.ok())
      return status;
  }
  absl::StatusOr<Tensor> target = session.GetVariable(getTargetName(one, i));
  if (!target.ok())
    return target.status();
  absl::StatusOr<int64_t> wrong = countWrong(one, *target, communicator.rank(), communicator.size());
  if (!wrong.ok())
    return wrong.status();
  result.wrong = *wrong;
  absl::Status status = communicator.AllReduce(&result.wrong, &result.wrong, 1, DType::kI64, Reduction::kSum);
  for (int64_t step = -plan.warmup; status.ok() && step != plan.steps; ++step) {
    if (status = session.Run(getTimeEntry(i), {}); !status.ok())
      break;
    absl::StatusOr<absl::Duration> duration = session.LastRunDuration(getTimeEntry(i));
    status = duration.status();
    if (status.ok() && step >= 0)
      result.milliseconds.push_back(absl::ToDoubleMilliseconds(*duration) / static_cast<double>(chain));
  }
  if (!status.ok())
    return status;
  return result;
}

/// Returns the cases of one collective, type and reduction, by size. Sizes that are equal after rounding are one case.
static std::vector<CollectiveCase> listCases(Collective collective, DType dtype, Reduction reduction, int ranks,
                                             const AllReducePlan &plan) {
  std::vector<CollectiveCase> cases;
  for (int64_t bytes : plan.sizes) {
    int64_t count = std::max<int64_t>(1, bytes / ByteSize(dtype));
    if (!isInPlace(collective))
      count = std::max<int64_t>(1, count / ranks) * ranks;
    CollectiveCase one{collective, dtype, reduction, count};
    if (!llvm::is_contained(cases, one))
      cases.push_back(one);
  }
  return cases;
}

GpuExchange cs336::bench::getExchange(Backend backend) {
  switch (backend) {
  case Backend::Tcp:
  case Backend::Threads:
  case Backend::GPU:
    return GpuExchange::kAuto;
  case Backend::NCCL:
    return GpuExchange::kNccl;
  case Backend::Peers:
    return GpuExchange::kPeers;
  }
  llvm_unreachable("every backend has a case");
}

/// Returns RESOURCE_EXHAUSTED on every rank if one has it. Other failures are those of the rank alone, and end the
/// group.
static absl::Status agreeOnMemory(const absl::Status &own, Communicator &communicator) {
  if (!own.ok() && !absl::IsResourceExhausted(own))
    return own;
  int64_t lacksMemory = own.ok() ? 0 : 1;
  absl::Status status = communicator.AllReduce(&lacksMemory, &lacksMemory, 1, DType::kI64, Reduction::kMax);
  if (!status.ok() || !own.ok())
    return status.ok() ? own : status;
  return lacksMemory == 0 ? absl::OkStatus() : absl::ResourceExhaustedError("another rank has too little memory");
}

namespace {
/// Measures the cases of a plan as one rank.
class CollectiveRun {
public:
  CollectiveRun(std::shared_ptr<Communicator> communicator, SessionOptions options, DeviceId device,
                const AllReducePlan &plan, CollectiveReport report)
      : communicator(std::move(communicator)), options(std::move(options)), device(device), plan(plan), report(report) {
  }

  /// Measures the cases in one session, or in a session each if they do not fit into memory together.
  absl::Status measure(llvm::ArrayRef<CollectiveCase> cases);

private:
  absl::StatusOr<std::unique_ptr<Session>> createSession(llvm::ArrayRef<CollectiveCase> cases,
                                                         llvm::ArrayRef<int64_t> chains) const;

  std::shared_ptr<Communicator> communicator;
  SessionOptions options;
  DeviceId device;
  const AllReducePlan &plan;
  /// The milliseconds that the first session took.
  std::optional<double> startup;
  CollectiveReport report;
};
} // namespace

absl::StatusOr<std::unique_ptr<Session>> CollectiveRun::createSession(llvm::ArrayRef<CollectiveCase> cases,
                                                                      llvm::ArrayRef<int64_t> chains) const {
  absl::StatusOr<std::shared_ptr<const Executable>> executable =
      compileCollectives(cases, chains, communicator->size(), getTarget(device));
  if (!executable.ok())
    return executable.status();
  return Session::Create(*std::move(executable), options);
}

absl::Status CollectiveRun::measure(llvm::ArrayRef<CollectiveCase> cases) {
  std::vector<int64_t> chains;
  for (const CollectiveCase &one : cases)
    chains.push_back(getChain(one, device));
  Clock::time_point begin = Clock::now();
  absl::StatusOr<std::unique_ptr<Session>> session = createSession(cases, chains);
  absl::Status status = agreeOnMemory(session.status(), *communicator);
  if (absl::IsResourceExhausted(status)) {
    if (cases.size() == 1)
      return report({cases.front(), {}, 0, std::move(status)}, startup.value_or(0));
    session = std::move(status); // Frees the memory of a session that another rank lacks.
    for (const CollectiveCase &one : cases)
      if (status = measure(one); !status.ok())
        return status;
    return absl::OkStatus();
  }
  if (!status.ok())
    return status;
  if (!startup)
    startup = getMilliseconds(begin);
  for (size_t i = 0; i != cases.size(); ++i) {
    absl::StatusOr<AllReduceTimes> times = measureOne(**session, *communicator, cases[i], i, chains[i], plan);
    if (!times.ok())
      return times.status();
    if (status = report(*std::move(times), *startup); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status bench::measureCollectives(std::shared_ptr<Communicator> communicator, const std::string &device,
                                       GpuExchange exchange, const AllReducePlan &plan, CollectiveReport report) {
  absl::StatusOr<DeviceId> id = ParseDevice(device);
  if (!id.ok())
    return id.status();
  int ranks = communicator->size();
  SessionOptions options;
  options.device = device;
  options.communicator = communicator;
  options.exchange = exchange;
  CollectiveRun run(std::move(communicator), std::move(options), *id, plan, report);
  for (Collective collective : plan.collectives)
    for (DType dtype : plan.dtypes)
      for (Reduction reduction : isReducing(collective) ? plan.reductions : std::vector{Reduction::kSum})
        if (absl::Status status = run.measure(listCases(collective, dtype, reduction, ranks, plan)); !status.ok())
          return status;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<AllReduceTimes>> bench::measureOnThreads(int ranks, absl::Duration timeout,
                                                                    const AllReducePlan &plan, double &startup) {
  Clock::time_point begin = Clock::now();
  std::vector<std::unique_ptr<Communicator>> group = CreateInProcessGroup(ranks, timeout);
  double joined = getMilliseconds(begin);
  std::vector<AllReduceTimes> results; // Those of rank 0.
  std::vector<absl::Status> statuses(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank != ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto report = [&](AllReduceTimes times, double sessions) {
        if (rank == 0) {
          results.push_back(std::move(times));
          startup = joined + sessions;
        }
        return absl::OkStatus();
      };
      // A rank that fails leaves the group, which ends the ranks that wait for it.
      statuses[rank] = measureCollectives(std::move(group[rank]), "cpu", GpuExchange::kAuto, plan, report);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const absl::Status &status : statuses)
    if (!status.ok())
      return status;
  return results;
}
