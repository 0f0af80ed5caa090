//===- CompareCommand.cpp - cs336-bench compare ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Compare/CompareCommand.h"

#include "cs336/Bench/Compare/Comparison.h"
#include "cs336/Bench/Timing/RangedCells.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"

#include <cmath>

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription = "compares the times in two files of results";

CompareCommand::CompareCommand(llvm::ArrayRef<Command *> commands)
    : commands(commands.begin(), commands.end()), subcommand("compare", kDescription),
      before(cl::Positional, cl::Required, cl::desc("<before.json>"), cl::cat(category), cl::sub(subcommand)),
      after(cl::Positional, cl::Required,
            cl::desc("<after.json>\n\n"
                     "Both files are results that a command has written with --format json. Rows with equal settings "
                     "are compared.\n"
                     "A ratio is the time before divided by the time after. Its interval is that of the quartiles of "
                     "the steps. A time is\n"
                     "faster if the whole interval lies above 1 + tolerance, slower if it lies below 1 / (1 + "
                     "tolerance).\n"),
            cl::cat(category), cl::sub(subcommand)),
      tolerance("tolerance",
                cl::desc("Percent by which two processes that run the same program differ: smaller differences do "
                         "not count (default 2)"),
                cl::value_desc("percent"), cl::init(2), cl::cat(category), cl::sub(subcommand)),
      failOnSlower(
          "fail-on-slower",
          cl::desc("Exit with 1, after the report, if a time is slower, or may be: unknown, or missing afterwards"),
          cl::cat(category), cl::sub(subcommand)),
      output(category, subcommand) {}

void CompareCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

/// Returns the value of a setting as a cell.
static Cell makeSetting(const json::Object &settings, llvm::StringRef key) {
  const json::Value *value = settings.get(key);
  if (!value || value->kind() == json::Value::Null)
    return Cell::empty();
  if (std::optional<llvm::StringRef> text = value->getAsString())
    return {text->str(), *value};
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (std::optional<double> number = value->getAsNumber(); number && !value->getAsInteger())
    stream << llvm::format("%g", *number);
  else
    stream << *value;
  return {std::move(text), *value};
}

static Cell makeIntervalText(const std::optional<Ranged> &ratio) {
  Cell cell = makeInterval(ratio);
  if (cell.value.kind() != json::Value::Null)
    cell.text = llvm::formatv("{0:f3} to {1:f3}", ratio->low, ratio->high);
  return cell;
}

static std::vector<Column<TimeComparison>> makeColumns(llvm::ArrayRef<ColumnDescription> settings) {
  using Row = TimeComparison;
  std::vector<Column<Row>> columns{
      {"benchmark", "benchmark", [](const Row &row) { return Cell(row.benchmark); }, Show::Setting}};
  for (const ColumnDescription &setting : settings)
    columns.push_back({setting.title, setting.key,
                       [key = setting.key](const Row &row) { return makeSetting(row.settings, key); }, Show::Setting});
  std::vector<Column<Row>> results{
      {"unit", "unit", [](const Row &row) { return Cell::optional(row.unit); }, Show::Setting},
      {"time", "time", [](const Row &row) { return Cell(row.column); }, Show::Result, Role::Setting},
      {"before", "before", [](const Row &row) { return Cell::number(row.before, 3); }},
      {"after", "after", [](const Row &row) { return Cell::number(row.after, 3); }},
      {"before/after", "ratio", [](const Row &row) { return makeRatio(row.ratio, 3); }},
      {"interval", "ratio_interval", [](const Row &row) { return makeIntervalText(row.ratio); }},
      {"verdict", "verdict", [](const Row &row) { return Cell(stringifyVerdict(row.verdict)); }}};
  columns.insert(columns.end(), results.begin(), results.end());
  return columns;
}

std::vector<ColumnHead> CompareCommand::getColumns() const {
  std::vector<Column<TimeComparison>> columns = makeColumns({});
  return {columns.begin(), columns.end()};
}

/// Returns "1 slower, 2 unknown": how many times have each of the verdicts. The text is empty if none has.
static std::string countVerdicts(llvm::ArrayRef<TimeComparison> times, llvm::ArrayRef<Verdict> verdicts) {
  std::string text;
  for (Verdict verdict : verdicts)
    if (auto count = llvm::count_if(times, [&](const TimeComparison &time) { return time.verdict == verdict; }))
      absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", stringifyVerdict(verdict).str());
  return text;
}

/// Describes the test and the number of times with each verdict.
static std::string summarize(llvm::ArrayRef<TimeComparison> times, double tolerance) {
  std::string text = llvm::formatv(
      "faster: the interval of before/after lies above {0:f3}; slower: below {1:f3}; the interval is that "
      "of the quartiles of the steps\n",
      1 + tolerance, 1 / (1 + tolerance));
  return text + countVerdicts(times, {Verdict::Faster, Verdict::Slower, Verdict::NoDifference, Verdict::Unknown,
                                      Verdict::OnlyBefore, Verdict::OnlyAfter});
}

absl::Status CompareCommand::run(llvm::StringRef commandLine) {
  if (tolerance < 0)
    return absl::InvalidArgumentError(absl::StrCat("--tolerance is ", tolerance.getValue(), ", must not be negative"));
  auto findColumns = [&](llvm::StringRef benchmark) {
    for (Command *command : commands)
      if (command->getSubCommand().getName() == benchmark)
        return command->getColumns();
    return std::vector<ColumnHead>();
  };
  absl::StatusOr<ResultsFile> old = readResultsFile(before, findColumns);
  if (!old.ok())
    return old.status();
  absl::StatusOr<ResultsFile> current = readResultsFile(after, findColumns);
  if (!current.ok())
    return current.status();
  double fraction = tolerance / 100;
  absl::StatusOr<Comparison> comparison = compareResults(*old, *current, fraction, [](llvm::StringRef warning) {
    llvm::WithColor::warning(llvm::errs(), "cs336-bench") << warning << "\n";
  });
  if (!comparison.ok())
    return comparison.status();
  std::vector<Column<TimeComparison>> columns = makeColumns(comparison->settings);
  if (absl::Status status = output.check(columns); !status.ok())
    return status;

  llvm::ArrayRef<TimeComparison> times = comparison->times;
  json::Object context{{"benchmark", "compare"},
                       {"command", commandLine},
                       {"before", before.getValue()},
                       {"after", after.getValue()},
                       {"tolerance_percent", tolerance.getValue()}};
  if (absl::Status status =
          output.write({std::move(context), {{"compare", "", columns, times}}, {summarize(times, fraction)}});
      !status.ok())
    return status;
  if (!failOnSlower)
    return absl::OkStatus();
  std::string found = countVerdicts(times, {Verdict::Slower, Verdict::Unknown, Verdict::OnlyBefore});
  if (found.empty())
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("--fail-on-slower: of ", times.size(), " times of '",
                                                    before.getValue(), "' and '", after.getValue(), "': ", found));
}
