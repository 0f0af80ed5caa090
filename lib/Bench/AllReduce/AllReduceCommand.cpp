//===- AllReduceCommand.cpp - cs336-bench allreduce -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/AllReduce/AllReduceCommand.h"

#include "cs336/Bench/AllReduce/CollectiveNames.h"
#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Bench/Command/StepCounts.h"
#include "cs336/Bench/Peer/PeerFailure.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Bench/Progress/Progress.h"
#include "cs336/Bench/Timing/RangedCells.h"
#include "cs336/Bench/Timing/Statistics.h"
#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Support/ByteSize.h"
#include "cs336/Support/UnknownValue.h"
#include "cs336/runtime/Cores.h"
#include "cs336/runtime/CudaInfo.h"
#include "cs336/runtime/DeviceId.h"
#include "cs336/runtime/Launcher.h"
#include "cs336/runtime/TcpGroup.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <chrono>

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription = "measures collectives between ranks";

static constexpr llvm::StringLiteral kVariants[] = {"plain", "graph"};
/// The column with the time of every collective, and that with the reason if there are none.
static constexpr const char *kStepsKey = "times_ms", *kStatusKey = "status";
static constexpr Named<Backend> kBackends[] = {{"tcp", Backend::Tcp},
                                               {"threads", Backend::Threads},
                                               {"gpu", Backend::GPU},
                                               {"nccl", Backend::NCCL},
                                               {"peers", Backend::Peers}};

/// Returns INVALID_ARGUMENT with the known names if a name of the flag is not among them.
template <typename Value, size_t Size>
static absl::Status checkNames(const Named<Value> (&known)[Size], const cl::list<std::string> &names) {
  llvm::SmallVector<llvm::StringRef> all;
  for (const auto &[name, value] : known)
    all.push_back(name);
  for (const std::string &name : names)
    if (!findValue(known, name))
      return absl::InvalidArgumentError(describeUnknown(names.ArgStr, name, all));
  return absl::OkStatus();
}

AllReduceCommand::AllReduceCommand(std::string program)
    : program(std::move(program)), subcommand("allreduce", kDescription),
      collectives("collective",
                  cl::desc("Collectives: all_reduce, all_gather, reduce_scatter, broadcast, all_to_all (default "
                           "all_reduce)"),
                  cl::value_desc("name,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      sizes("size",
            cl::desc("Bytes of each rank's block, or of all parts together: 1MB is 10^6, 1MiB 2^20 (default "
                     "1MB,10MB,100MB)"),
            cl::value_desc("bytes,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      dtypes("dtype", cl::desc("Types of the elements: fp32, bf16, fp16 (default fp32)"), cl::value_desc("name,..."),
             cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      operations("op", cl::desc("Reductions: sum, mean, max (default sum)"), cl::value_desc("name,..."),
                 cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      ranks("ranks",
            cl::desc("Numbers of ranks, which are processes, or threads of one with --backend threads (default 2)"),
            cl::value_desc("number,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      processes("nproc", cl::desc("Alias of --ranks"), cl::Hidden, cl::CommaSeparated, cl::aliasopt(ranks)),
      backends(
          "backend", cl::desc("How ranks exchange data (default tcp)"), cl::CommaSeparated,
          cl::values(clEnumValN(Backend::Tcp, "tcp", "processes, connected by TCP"),
                     clEnumValN(Backend::Threads, "threads", "threads of one process, with shared memory"),
                     clEnumValN(Backend::GPU, "gpu",
                                "processes; rank i uses GPU i, and exchanges data as in a training step: through "
                                "nccl or peers, by the collective"),
                     clEnumValN(Backend::NCCL, "nccl", "the same, only through NCCL"),
                     clEnumValN(Backend::Peers, "peers", "the same, where GPUs read and write each other's memory")),
          cl::cat(category), cl::sub(subcommand)),
      warmup("warmup", cl::desc("Runs before the timed ones (default 5)"), cl::value_desc("number"), cl::init(5),
             cl::cat(category), cl::sub(subcommand)),
      steps("steps", cl::desc("Timed runs (default 20)"), cl::value_desc("number"), cl::init(20), cl::cat(category),
            cl::sub(subcommand)),
      timeout("rank-timeout", cl::desc("Seconds in which the run ends after a rank fails or hangs (default 30)"),
              cl::value_desc("number"), cl::init(30), cl::cat(category), cl::sub(subcommand)),
      peer(kVariants,
           "Compare processes with torch.distributed: torch, or torch:VARIANT,... with variants plain (default) and "
           "graph, which replays CUDA graphs",
           category, subcommand),
      output(category, subcommand) {}

void AllReduceCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

const AllReduceRow *bench::findCompared(const AllReduceRow &row, llvm::ArrayRef<AllReduceRow> rows) {
  const AllReduceRow *fastest = nullptr;
  if (row.peer.empty() || !row.status.ok())
    return fastest;
  auto getMedian = [](const AllReduceRow &each) { return computeStatistics(each.times.milliseconds).median; };
  for (const AllReduceRow &other : rows) {
    bool isComparable = other.backend == row.backend || (isOnGPUs(other.backend) && isOnGPUs(row.backend));
    if (other.peer.empty() && other.status.ok() && isComparable && other.ranks == row.ranks &&
        other.times.one == row.times.one && (!fastest || getMedian(other) < getMedian(*fastest)))
      fastest = &other;
  }
  return fastest;
}

/// Returns PyTorch's median over ours. "mismatch" if either side has wrong elements.
static Cell makePeerRatio(const AllReduceRow &row, llvm::ArrayRef<AllReduceRow> rows) {
  const AllReduceRow *own = findCompared(row, rows);
  if (!own)
    return Cell::empty();
  if (row.times.wrong != 0 || own->times.wrong != 0)
    return Cell::note("mismatch");
  return makeRatio(divide(getRangedMedian(row.times.milliseconds), getRangedMedian(own->times.milliseconds)), 2);
}

static std::vector<Column<AllReduceRow>> getColumnsOfRows(llvm::ArrayRef<AllReduceRow> rows) {
  using Row = AllReduceRow;
  auto median = [](const Row &row) { return computeStatistics(row.times.milliseconds).median; };
  // 10^9 bytes per second are 10^6 per millisecond.
  auto bandwidth = [=](const Row &row) { return static_cast<double>(row.times.one.getBytes()) / median(row) / 1e6; };
  // Rows without enough memory, and those of a peer that has failed, have no times.
  auto whenMeasured = [](auto get) {
    return [get](const Row &row) { return row.status.ok() ? get(row) : Cell::empty(); };
  };
  return {{"backend", "backend",
           [](const Row &row) {
             llvm::StringRef own = getName(kBackends, row.backend);
             if (row.peer.empty())
               return Cell(own);
             return Cell("torch " + row.peer + (isOnGPUs(row.backend) ? " nccl" : " gloo"));
           },
           Show::Setting},
          {"collective", "collective",
           [](const Row &row) { return Cell(getName(kCollectives, row.times.one.collective)); }, Show::Setting},
          {"ranks", "ranks", [](const Row &row) { return Cell::integer(row.ranks); }, Show::Result, Role::Setting},
          {"size (B)", "size_bytes", [](const Row &row) { return Cell::integer(row.times.one.getBytes()); },
           Show::Result, Role::Setting},
          {"count", "count", [](const Row &row) { return Cell::integer(row.times.one.count); }, Show::Result,
           Role::Setting},
          {"type", "dtype", [](const Row &row) { return Cell(getName(kTypes, row.times.one.dtype)); }, Show::Setting},
          {"redop", "op",
           [](const Row &row) {
             return isReducing(row.times.one.collective) ? Cell(getName(kOperations, row.times.one.reduction))
                                                         : Cell::empty();
           },
           Show::Setting},
          {"time (ms)",
           "time_ms",
           [=](const Row &row) { return row.status.ok() ? Cell::number(median(row), 3) : makePeerFailure(row.status); },
           Show::Result,
           Role::Result,
           {kStepsKey}},
          {"min (ms)", "min_ms",
           whenMeasured([](const Row &row) { return Cell::number(computeStatistics(row.times.milliseconds).min, 3); }),
           Show::OnRequest},
          {"algbw (GB/s)", "algbw_gb_s", whenMeasured([=](const Row &row) { return Cell::number(bandwidth(row), 3); })},
          {"busbw (GB/s)", "busbw_gb_s", whenMeasured([=](const Row &row) {
             return Cell::number(bandwidth(row) * getBusFactor(row.times.one.collective, row.ranks), 3);
           })},
          {"#wrong", "wrong", whenMeasured([](const Row &row) { return Cell::integer(row.times.wrong); })},
          {"start-up (ms)", "startup_ms",
           [](const Row &row) {
             return row.peer.empty() && row.status.ok() ? Cell::number(row.startupMilliseconds, 1) : Cell::empty();
           }},
          {"over cs336", "torch_over_cs336", [rows](const Row &row) { return makePeerRatio(row, rows); }},
          {"compared with", "compared_with",
           [rows](const Row &row) {
             const Row *own = findCompared(row, rows);
             return own ? Cell(getName(kBackends, own->backend)) : Cell::empty();
           },
           Show::OnRequest},
          {"times (ms)", kStepsKey,
           whenMeasured([](const Row &row) { return Cell::data(json::Array(row.times.milliseconds)); }), Show::Data},
          {"status", kStatusKey,
           [](const Row &row) { return Cell(row.status.ok() ? std::string("ok") : std::string(row.status.message())); },
           Show::OnRequest}};
}

std::vector<ColumnHead> AllReduceCommand::getColumns() const {
  std::vector<Column<AllReduceRow>> columns = getColumnsOfRows({});
  return {columns.begin(), columns.end()};
}

absl::Status AllReduceCommand::check() const {
  for (const std::string &size : sizes)
    if (!parseBytes(size))
      return absl::InvalidArgumentError(absl::StrCat("--size: '", size, "' is not a size, such as 1MB or 64KiB"));
  if (absl::Status status = checkNames(kCollectives, collectives); !status.ok())
    return status;
  if (absl::Status status = checkNames(kTypes, dtypes); !status.ok())
    return status;
  if (absl::Status status = checkNames(kOperations, operations); !status.ok())
    return status;
  if (!llvm::any_of(getPlan().collectives, isReducing))
    if (absl::Status status = refuseFlag(operations, "none of the collectives reduces"); !status.ok())
      return status;
  constexpr int kFewestRanks = 2, kMostRanks = 1024;
  for (int number : ranks)
    if (number < kFewestRanks || number > kMostRanks)
      return absl::InvalidArgumentError(
          absl::StrCat("--ranks is ", number, ", must be from ", kFewestRanks, " to ", kMostRanks));
  if (absl::Status status = checkStepCounts(steps, warmup.getValue()); !status.ok())
    return status;
  if (timeout <= 0)
    return absl::InvalidArgumentError(absl::StrCat("--rank-timeout is ", timeout.getValue(), ", must be above 0"));
  if (absl::Status status = peer.check(); !status.ok())
    return status;
  return output.check(getColumnsOfRows({}));
}

/// Checks the number of GPUs before any rank starts: the group would report a rank without a GPU as a failed rank.
absl::Status AllReduceCommand::checkGPUs() const {
  auto found = llvm::find_if(backends, isOnGPUs);
  if (found == backends.end())
    return absl::OkStatus();
  std::string flag = absl::StrCat("--backend ", getName(kBackends, *found).str(), ": ");
  absl::StatusOr<runtime::CudaInfo> info = runtime::QueryCuda();
  if (!info.ok())
    return absl::Status(info.status().code(), absl::StrCat(flag, info.status().message()));
  constexpr int kDefaultRanks = 2;
  int most = ranks.empty() ? kDefaultRanks : *std::max_element(ranks.begin(), ranks.end());
  if (most > static_cast<int>(info->devices.size()))
    return absl::InvalidArgumentError(
        absl::StrCat(flag, most, " ranks need as many GPUs, and this host has ", info->devices.size()));
  return absl::OkStatus();
}

AllReducePlan AllReduceCommand::getPlan() const {
  AllReducePlan plan{{}, {}, {}, {}, warmup, steps};
  for (const std::string &name : collectives)
    plan.collectives.push_back(*findValue(kCollectives, name));
  for (const std::string &size : sizes)
    if (int64_t bytes = *parseBytes(size); !llvm::is_contained(plan.sizes, bytes))
      plan.sizes.push_back(bytes);
  for (const std::string &name : dtypes)
    plan.dtypes.push_back(*findValue(kTypes, name));
  for (const std::string &name : operations)
    plan.reductions.push_back(*findValue(kOperations, name));
  if (plan.collectives.empty())
    plan.collectives = {Collective::AllReduce};
  if (plan.sizes.empty())
    plan.sizes = {1'000'000, 10'000'000, 100'000'000};
  if (plan.dtypes.empty())
    plan.dtypes = {runtime::DType::kF32};
  if (plan.reductions.empty())
    plan.reductions = {runtime::Reduction::kSum};
  return plan;
}

static AllReduceRow makeRow(Backend backend, int ranks, double startup, AllReduceTimes times) {
  absl::Status status = times.status;
  return {backend, ranks, startup, std::move(times), "", std::move(status)};
}

absl::Status AllReduceCommand::measureAsRank(const runtime::RankEnvironment &place, llvm::StringRef commandLine,
                                             std::vector<AllReduceRow> &rows) const {
  auto begin = std::chrono::steady_clock::now();
  absl::StatusOr<std::unique_ptr<runtime::Communicator>> joined =
      runtime::JoinTcpGroup(place, absl::Seconds(timeout.getValue()));
  if (!joined.ok())
    return joined.status();
  if (absl::Status status = runtime::BindToShareOfCores(**joined); !status.ok())
    return status;
  double join = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  Backend backend = backends.empty() ? Backend::Tcp : backends.front();
  runtime::DeviceId kind{isOnGPUs(backend) ? runtime::DeviceKind::kCuda : runtime::DeviceKind::kCpu};
  std::string device = ToString(DeviceOfRank(kind, place.local_rank));
  auto report = [&](AllReduceTimes times, double startup) {
    rows.push_back(makeRow(backend, place.size, join + startup, std::move(times)));
    return place.rank == 0 && !output.getPath().path.empty() ? write(commandLine, rows, checkInterruption())
                                                             : absl::OkStatus();
  };
  return measureCollectives(*std::move(joined), device, getExchange(backend), getPlan(), report);
}

/// Reads what rank 0 has written.
static absl::StatusOr<std::vector<AllReduceRow>> readRows(llvm::StringRef path) {
  absl::Status damaged = absl::InternalError("rank 0 has not written its results");
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return damaged;
  llvm::Expected<json::Value> report = json::parse((*file)->getBuffer());
  if (!report) {
    llvm::consumeError(report.takeError());
    return damaged;
  }
  const json::Array *results = report->getAsObject() ? report->getAsObject()->getArray("results") : nullptr;
  if (!results)
    return damaged;
  std::vector<AllReduceRow> rows;
  for (const json::Value &result : *results) {
    const json::Object &object = *result.getAsObject();
    AllReduceRow &row = rows.emplace_back();
    row.backend = *findValue(kBackends, *object.getString("backend"));
    row.ranks = static_cast<int>(*object.getInteger("ranks"));
    CollectiveCase &one = row.times.one;
    one.collective = *findValue(kCollectives, *object.getString("collective"));
    one.count = *object.getInteger("count");
    one.dtype = *findValue(kTypes, *object.getString("dtype"));
    if (std::optional<llvm::StringRef> operation = object.getString("op"))
      one.reduction = *findValue(kOperations, *operation);
    const json::Array *times = object.getArray(kStepsKey);
    if (!times) {
      row.status = absl::ResourceExhaustedError(std::string(*object.getString(kStatusKey)));
      continue;
    }
    row.startupMilliseconds = *object.getNumber("startup_ms");
    row.times.wrong = *object.getInteger("wrong");
    for (const json::Value &time : *times)
      row.times.milliseconds.push_back(*time.getAsNumber());
  }
  return rows;
}

absl::Status AllReduceCommand::measureOnProcesses(Backend backend, int number, std::vector<AllReduceRow> &rows) const {
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("cs336-allreduce", "json", path))
    return absl::UnavailableError(absl::StrCat("cannot create a temporary file: ", error.message()));
  llvm::FileRemover remover(path);
  AllReducePlan plan = getPlan();
  auto join = [](const auto &values, auto &&getText) { return llvm::join(llvm::map_range(values, getText), ","); };
  runtime::LaunchOptions options;
  options.ranks = number;
  options.timeout = absl::Seconds(timeout.getValue());
  options.command = {program,
                     "allreduce",
                     "--backend=" + getName(kBackends, backend).str(),
                     "--collective=" +
                         join(plan.collectives, [](Collective each) { return getName(kCollectives, each).str(); }),
                     "--size=" + join(plan.sizes, [](int64_t size) { return std::to_string(size); }),
                     "--dtype=" + join(plan.dtypes, [](runtime::DType type) { return getName(kTypes, type).str(); }),
                     absl::StrCat("--warmup=", plan.warmup),
                     absl::StrCat("--steps=", plan.steps),
                     absl::StrCat("--rank-timeout=", timeout.getValue()),
                     "--format=json",
                     "--output=" + path.str().str()};
  if (!operations.empty())
    options.command.push_back("--op=" + llvm::join(operations, ","));
  options.on_signal = setInterruption;
  absl::Status status = runtime::LaunchRanks(options);
  if (!status.ok() && !absl::IsCancelled(status))
    return status;
  absl::StatusOr<std::vector<AllReduceRow>> written = readRows(path);
  if (!written.ok())
    return status.ok() ? written.status() : status;
  llvm::append_range(rows, *written);
  return status;
}

absl::StatusOr<std::unique_ptr<CollectivePeer>> AllReduceCommand::startPeer() const {
  if (!peer.isGiven())
    return nullptr;
  PeerOptions options = peer.getOptions();
  options.warmup = warmup;
  options.steps = steps;
  absl::StatusOr<std::unique_ptr<CollectivePeer>> torch = CollectivePeer::start(options);
  if (torch.ok() && !(*torch)->getFailure().ok())
    llvm::WithColor::warning(llvm::errs(), "cs336-bench") << std::string((*torch)->getFailure().message()) << "\n";
  return torch;
}

std::vector<CollectiveCase> cs336::bench::listPeerCases(llvm::StringRef variant, llvm::ArrayRef<AllReduceRow> own,
                                                        llvm::ArrayRef<AllReduceRow> rows) {
  std::vector<CollectiveCase> cases;
  for (const AllReduceRow &row : own) {
    bool isOnGPU = isOnGPUs(row.backend);
    bool isDone = llvm::any_of(rows, [&](const AllReduceRow &other) {
      return other.peer == variant && isOnGPUs(other.backend) == isOnGPU && other.ranks == row.ranks &&
             other.times.one == row.times.one;
    });
    if (row.status.ok() && !isDone && CollectivePeer::isMeasured(variant, row.times.one, isOnGPU))
      cases.push_back(row.times.one);
  }
  return cases;
}

/// Measures the peer's variants of the same cases, between processes. Its rows follow.
static absl::Status measurePeer(CollectivePeer &torch, llvm::ArrayRef<AllReduceRow> own,
                                std::vector<AllReduceRow> &rows) {
  bool isOnGPU = isOnGPUs(own.front().backend);
  int ranks = own.front().ranks;
  for (const std::string &variant : torch.getVariants()) {
    std::vector<CollectiveCase> cases = listPeerCases(variant, own, rows);
    if (cases.empty())
      continue;
    absl::StatusOr<std::vector<AllReduceTimes>> measured = torch.measure(variant, cases, ranks, isOnGPU);
    if (!measured.ok() && !absl::IsResourceExhausted(measured.status()) && !absl::IsUnavailable(measured.status()))
      return measured.status();
    for (auto [i, one] : llvm::enumerate(cases)) {
      AllReduceTimes times = measured.ok() ? std::move((*measured)[i]) : AllReduceTimes{one, {}, 0};
      rows.push_back({own.front().backend, ranks, 0, std::move(times), variant, measured.status()});
    }
  }
  return absl::OkStatus();
}

absl::Status AllReduceCommand::measureAll(CollectivePeer *torch, std::vector<AllReduceRow> &rows) const {
  std::vector<int> numbers = ranks.empty() ? std::vector<int>{2} : std::vector<int>(ranks.begin(), ranks.end());
  std::vector<Backend> ways =
      backends.empty() ? std::vector<Backend>{Backend::Tcp} : std::vector<Backend>(backends.begin(), backends.end());
  Progress progress(static_cast<int64_t>(numbers.size() * ways.size()));
  for (Backend backend : ways)
    for (int number : numbers) {
      if (absl::Status status = checkInterruption(); !status.ok())
        return status;
      progress.start(getName(kBackends, backend) + ", " + llvm::Twine(number) + " ranks");
      std::vector<AllReduceRow> group;
      absl::Status status =
          backend == Backend::Threads ? measureAsThreads(number, group) : measureOnProcesses(backend, number, group);
      llvm::append_range(rows, group);
      if (!status.ok())
        return absl::Status(status.code(), absl::StrCat(number, " ranks: ", status.message()));
      if (!torch || backend == Backend::Threads)
        continue;
      progress.update("PyTorch", 0.5);
      if (status = measurePeer(*torch, group, rows); !status.ok())
        return status;
    }
  return absl::OkStatus();
}

absl::Status AllReduceCommand::measureAsThreads(int number, std::vector<AllReduceRow> &rows) const {
  double startup = 0;
  absl::StatusOr<std::vector<AllReduceTimes>> results =
      measureOnThreads(number, absl::Seconds(timeout.getValue()), getPlan(), startup);
  if (!results.ok())
    return results.status();
  for (AllReduceTimes &times : *results)
    rows.push_back(makeRow(Backend::Threads, number, startup, std::move(times)));
  return absl::OkStatus();
}

absl::Status AllReduceCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = check(); !status.ok())
    return status;
  absl::StatusOr<std::optional<runtime::RankEnvironment>> place = runtime::ReadRankEnvironment();
  if (!place.ok())
    return place.status();
  std::vector<AllReduceRow> rows;
  std::unique_ptr<CollectivePeer> torch;
  absl::Status interrupted;
  if (*place) {
    if (!ranks.empty() || backends.size() > 1 || llvm::is_contained(backends, Backend::Threads))
      return absl::InvalidArgumentError(absl::StrCat(
          "--ranks, --backend threads and several backends conflict with the environment, which is that of rank ",
          (*place)->rank, " of ", (*place)->size));
    if (peer.isGiven())
      return absl::InvalidArgumentError("--peer conflicts with the environment, which is that of a rank: PyTorch's "
                                        "ranks are started by the command without a launcher");
    if (absl::Status status = measureAsRank(**place, commandLine, rows); !status.ok() || (*place)->rank != 0)
      return status;
  } else {
    if (absl::Status status = checkGPUs(); !status.ok())
      return status;
    catchInterruptions();
    absl::StatusOr<std::unique_ptr<CollectivePeer>> started = startPeer();
    if (!started.ok())
      return started.status();
    torch = *std::move(started);
    absl::Status status = measureAll(torch.get(), rows);
    if (!status.ok() && (!absl::IsCancelled(status) || rows.empty()))
      return status;
    interrupted = std::move(status);
    for (const AllReduceRow &row : rows)
      if (row.peer.empty() && !row.status.ok())
        llvm::errs() << getFailureText(row.status) << ": " << getName(kBackends, row.backend) << ", " << row.ranks
                     << " ranks, " << formatBytes(row.times.one.getBytes()) << ": " << std::string(row.status.message())
                     << "\n";
  }
  absl::Status written = write(commandLine, rows, interrupted);
  written.Update(interrupted);
  if (written.ok() && torch && !torch->getFailure().ok())
    return makePeerMissing(torch->getFailure());
  return written;
}

absl::Status AllReduceCommand::write(llvm::StringRef commandLine, llvm::ArrayRef<AllReduceRow> rows,
                                     const absl::Status &end) const {
  runtime::DeviceId device;
  if (llvm::any_of(backends, isOnGPUs))
    device.kind = runtime::DeviceKind::kCuda;
  json::Object context{{"benchmark", "allreduce"},
                       {"command", commandLine},
                       {"device", describeDevice(device, 0)},
                       {"warmup", warmup.getValue()},
                       {"steps", steps.getValue()}};
  markIfIncomplete(context, end);
  return output.write({std::move(context), {{"allreduce", "", getColumnsOfRows(rows), rows}}, {}});
}
