//===- AllReduceCommand.cpp - cs336-bench allreduce -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/AllReduce/AllReduceCommand.h"

#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Bench/Progress/Progress.h"
#include "cs336/Bench/Timing/Statistics.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Support/ByteSize.h"
#include "cs336/Support/UnknownValue.h"
#include "cs336/runtime/Launcher.h"
#include "cs336/runtime/TcpGroup.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"

#include "absl/strings/str_cat.h"

#include <chrono>

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription = "measures all-reduces between ranks";

/// The names of types, as in `--dtype` of other commands.
static constexpr std::pair<llvm::StringLiteral, runtime::DType> kTypes[] = {
    {"fp32", runtime::DType::kF32}, {"bf16", runtime::DType::kBF16}, {"fp16", runtime::DType::kF16}};
static constexpr std::pair<llvm::StringLiteral, runtime::Reduction> kOperations[] = {
    {"sum", runtime::Reduction::kSum}, {"mean", runtime::Reduction::kMean}, {"max", runtime::Reduction::kMax}};
/// The column with the time of every all-reduce.
static constexpr const char *kStepsKey = "times_ms";
static constexpr std::pair<llvm::StringLiteral, Backend> kBackends[] = {{"tcp", Backend::Tcp},
                                                                        {"threads", Backend::Threads}};

template <typename Value, size_t Size>
static std::optional<Value> findValue(const std::pair<llvm::StringLiteral, Value> (&known)[Size],
                                      llvm::StringRef name) {
  for (const auto &[each, value] : known)
    if (each == name)
      return value;
  return std::nullopt;
}

template <typename Value, size_t Size>
static llvm::StringRef getName(const std::pair<llvm::StringLiteral, Value> (&known)[Size], Value value) {
  for (const auto &[name, each] : known)
    if (each == value)
      return name;
  return "";
}

/// Returns INVALID_ARGUMENT with the known names if a name of the flag is not among them.
template <typename Value, size_t Size>
static absl::Status checkNames(const std::pair<llvm::StringLiteral, Value> (&known)[Size],
                               const cl::list<std::string> &names) {
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
      sizes("size", cl::desc("Bytes of each rank's block: 1MB is 10^6, 1MiB 2^20 (default 1MB,10MB,100MB)"),
            cl::value_desc("bytes,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      dtypes("dtype", cl::desc("Types of the elements: fp32, bf16, fp16 (default fp32)"), cl::value_desc("name,..."),
             cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      operations("op", cl::desc("Reductions: sum, mean, max (default sum)"), cl::value_desc("name,..."),
                 cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      ranks("ranks", cl::desc("Numbers of ranks (default 2)"), cl::value_desc("number,..."), cl::CommaSeparated,
            cl::cat(category), cl::sub(subcommand)),
      backends("backend", cl::desc("How ranks exchange data (default tcp)"), cl::CommaSeparated,
               cl::values(clEnumValN(Backend::Tcp, "tcp", "processes, connected by TCP"),
                          clEnumValN(Backend::Threads, "threads", "threads of one process, with shared memory")),
               cl::cat(category), cl::sub(subcommand)),
      warmup("warmup", cl::desc("All-reduces before the timed ones (default 5)"), cl::value_desc("number"), cl::init(5),
             cl::cat(category), cl::sub(subcommand)),
      steps("steps", cl::desc("Timed all-reduces (default 20)"), cl::value_desc("number"), cl::init(20),
            cl::cat(category), cl::sub(subcommand)),
      timeout("rank-timeout", cl::desc("Seconds after which a silent rank ends the run (default 30)"),
              cl::value_desc("number"), cl::init(30), cl::cat(category), cl::sub(subcommand)),
      output(category, subcommand) {}

void AllReduceCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

static std::vector<Column<AllReduceRow>> getColumnsOfRows() {
  using Row = AllReduceRow;
  auto median = [](const Row &row) { return computeStatistics(row.times.milliseconds).median; };
  // 10^9 bytes per second are 10^6 per millisecond.
  auto bandwidth = [=](const Row &row) { return static_cast<double>(row.times.getBytes()) / median(row) / 1e6; };
  return {
      {"backend", "backend", [](const Row &row) { return Cell(getName(kBackends, row.backend)); }, Show::Setting},
      {"ranks", "ranks", [](const Row &row) { return Cell::integer(row.ranks); }, Show::Result, Role::Setting},
      {"size (B)", "size_bytes", [](const Row &row) { return Cell::integer(row.times.getBytes()); }, Show::Result,
       Role::Setting},
      {"count", "count", [](const Row &row) { return Cell::integer(row.times.count); }, Show::Result, Role::Setting},
      {"type", "dtype", [](const Row &row) { return Cell(getName(kTypes, row.times.dtype)); }, Show::Setting},
      {"redop", "op", [](const Row &row) { return Cell(getName(kOperations, row.times.reduction)); }, Show::Setting},
      {"time (ms)",
       "time_ms",
       [=](const Row &row) { return Cell::number(median(row), 3); },
       Show::Result,
       Role::Result,
       {kStepsKey}},
      {"min (ms)", "min_ms",
       [](const Row &row) { return Cell::number(computeStatistics(row.times.milliseconds).min, 3); }, Show::OnRequest},
      {"algbw (GB/s)", "algbw_gb_s", [=](const Row &row) { return Cell::number(bandwidth(row), 3); }},
      {"busbw (GB/s)", "busbw_gb_s",
       [=](const Row &row) { return Cell::number(bandwidth(row) * 2 * (row.ranks - 1) / row.ranks, 3); }},
      {"#wrong", "wrong", [](const Row &row) { return Cell::integer(row.times.wrong); }},
      {"start-up (ms)", "startup_ms", [](const Row &row) { return Cell::number(row.startupMilliseconds, 1); }},
      {"times (ms)", kStepsKey, [](const Row &row) { return Cell::data(json::Array(row.times.milliseconds)); },
       Show::Data}};
}

std::vector<ColumnHead> AllReduceCommand::getColumns() const {
  std::vector<Column<AllReduceRow>> columns = getColumnsOfRows();
  return {columns.begin(), columns.end()};
}

absl::Status AllReduceCommand::check() const {
  for (const std::string &size : sizes)
    if (!parseBytes(size))
      return absl::InvalidArgumentError(absl::StrCat("--size: '", size, "' is not a size, such as 1MB or 64KiB"));
  if (absl::Status status = checkNames(kTypes, dtypes); !status.ok())
    return status;
  if (absl::Status status = checkNames(kOperations, operations); !status.ok())
    return status;
  constexpr int kFewestRanks = 2, kMostRanks = 1024;
  for (int number : ranks)
    if (number < kFewestRanks || number > kMostRanks)
      return absl::InvalidArgumentError(
          absl::StrCat("--ranks is ", number, ", must be from ", kFewestRanks, " to ", kMostRanks));
  if (warmup < 0)
    return absl::InvalidArgumentError(absl::StrCat("--warmup is ", warmup.getValue(), ", must not be negative"));
  if (steps < 1)
    return absl::InvalidArgumentError(absl::StrCat("--steps is ", steps.getValue(), ", must be positive"));
  if (timeout <= 0)
    return absl::InvalidArgumentError(absl::StrCat("--rank-timeout is ", timeout.getValue(), ", must be above 0"));
  return output.check(getColumnsOfRows());
}

AllReducePlan AllReduceCommand::getPlan() const {
  AllReducePlan plan{{}, {}, {}, warmup, steps};
  for (const std::string &size : sizes)
    plan.sizes.push_back(*parseBytes(size));
  for (const std::string &name : dtypes)
    plan.dtypes.push_back(*findValue(kTypes, name));
  for (const std::string &name : operations)
    plan.reductions.push_back(*findValue(kOperations, name));
  if (plan.sizes.empty())
    plan.sizes = {1'000'000, 10'000'000, 100'000'000};
  if (plan.dtypes.empty())
    plan.dtypes = {runtime::DType::kF32};
  if (plan.reductions.empty())
    plan.reductions = {runtime::Reduction::kSum};
  return plan;
}

absl::StatusOr<std::vector<AllReduceRow>> AllReduceCommand::measureAsRank(const runtime::RankEnvironment &place) const {
  auto begin = std::chrono::steady_clock::now();
  absl::StatusOr<std::unique_ptr<runtime::Communicator>> joined =
      runtime::JoinTcpGroup(place, absl::Seconds(timeout.getValue()));
  if (!joined.ok())
    return joined.status();
  double startup = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  absl::StatusOr<std::vector<AllReduceTimes>> results = measureAllReduces(**joined, getPlan());
  if (!results.ok())
    return results.status();
  std::vector<AllReduceRow> rows;
  for (AllReduceTimes &times : *results)
    rows.push_back({Backend::Tcp, place.size, startup, std::move(times)});
  return rows;
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
    row.backend = Backend::Tcp;
    row.ranks = static_cast<int>(*object.getInteger("ranks"));
    row.startupMilliseconds = *object.getNumber("startup_ms");
    row.times.count = *object.getInteger("count");
    row.times.dtype = *findValue(kTypes, *object.getString("dtype"));
    row.times.reduction = *findValue(kOperations, *object.getString("op"));
    row.times.wrong = *object.getInteger("wrong");
    for (const json::Value &time : *object.getArray(kStepsKey))
      row.times.milliseconds.push_back(*time.getAsNumber());
  }
  return rows;
}

absl::StatusOr<std::vector<AllReduceRow>> AllReduceCommand::measureOnProcesses(int number) const {
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("cs336-allreduce", "json", path))
    return absl::UnavailableError(absl::StrCat("cannot create a temporary file: ", error.message()));
  llvm::FileRemover remover(path);
  AllReducePlan plan = getPlan();
  auto join = [](const auto &values, auto &&getText) { return llvm::join(llvm::map_range(values, getText), ","); };
  runtime::LaunchOptions options;
  options.ranks = number;
  options.timeout = absl::Seconds(timeout.getValue());
  options.command = {
      program,
      "allreduce",
      "--size=" + join(plan.sizes, [](int64_t size) { return std::to_string(size); }),
      "--dtype=" + join(plan.dtypes, [](runtime::DType type) { return getName(kTypes, type).str(); }),
      "--op=" + join(plan.reductions, [](runtime::Reduction each) { return getName(kOperations, each).str(); }),
      absl::StrCat("--warmup=", plan.warmup),
      absl::StrCat("--steps=", plan.steps),
      absl::StrCat("--rank-timeout=", timeout.getValue()),
      "--format=json",
      "--output=" + path.str().str()};
  if (absl::Status status = runtime::LaunchRanks(options); !status.ok())
    return status;
  return readRows(path);
}

absl::Status AllReduceCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = check(); !status.ok())
    return status;
  absl::StatusOr<std::optional<runtime::RankEnvironment>> place = runtime::ReadRankEnvironment();
  if (!place.ok())
    return place.status();
  std::vector<AllReduceRow> rows;
  auto append = [&](absl::StatusOr<std::vector<AllReduceRow>> measured) {
    if (measured.ok())
      rows.insert(rows.end(), measured->begin(), measured->end());
    return measured.status();
  };
  if (*place) {
    if (!ranks.empty() || !backends.empty())
      return absl::InvalidArgumentError(absl::StrCat("--ranks and --backend conflict with the environment, which is "
                                                     "that of rank ",
                                                     (*place)->rank, " of ", (*place)->size));
    if (absl::Status status = append(measureAsRank(**place)); !status.ok() || (*place)->rank != 0)
      return status;
  } else {
    std::vector<int> numbers = ranks.empty() ? std::vector<int>{2} : std::vector<int>(ranks.begin(), ranks.end());
    std::vector<Backend> ways =
        backends.empty() ? std::vector<Backend>{Backend::Tcp} : std::vector<Backend>(backends.begin(), backends.end());
    Progress progress(static_cast<int64_t>(numbers.size() * ways.size()));
    for (Backend backend : ways)
      for (int number : numbers) {
        progress.start(getName(kBackends, backend) + ", " + llvm::Twine(number) + " ranks");
        absl::Status status;
        if (backend == Backend::Tcp) {
          status = append(measureOnProcesses(number));
        } else {
          double startup = 0;
          absl::StatusOr<std::vector<AllReduceTimes>> results =
              measureOnThreads(number, absl::Seconds(timeout.getValue()), getPlan(), startup);
          if (results.ok())
            for (AllReduceTimes &times : *results)
              rows.push_back({backend, number, startup, std::move(times)});
          status = results.status();
        }
        if (!status.ok())
          return absl::Status(status.code(), absl::StrCat(number, " ranks: ", status.message()));
      }
  }
  json::Object context{{"benchmark", "allreduce"},
                       {"command", commandLine},
                       {"device", describeDevice({}, 0)},
                       {"warmup", warmup.getValue()},
                       {"steps", steps.getValue()}};
  return output.write({std::move(context), {{"allreduce", "", getColumnsOfRows(), llvm::ArrayRef(rows)}}, {}});
}
