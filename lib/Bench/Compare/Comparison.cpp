//===- Comparison.cpp - Times before and after a change -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Compare/Comparison.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace cs336::bench;
namespace json = llvm::json;

llvm::StringRef cs336::bench::stringifyVerdict(Verdict verdict) {
  switch (verdict) {
  case Verdict::Faster:
    return "faster";
  case Verdict::Slower:
    return "slower";
  case Verdict::NoDifference:
    return "no difference";
  case Verdict::Unknown:
    return "unknown";
  case Verdict::OnlyBefore:
    return "only before";
  case Verdict::OnlyAfter:
    return "only after";
  }
  llvm_unreachable("every verdict has a name");
}

Verdict cs336::bench::judge(const Ranged &ratio, double tolerance) {
  if (ratio.low > 1 + tolerance)
    return Verdict::Faster;
  if (ratio.high < 1 / (1 + tolerance))
    return Verdict::Slower;
  return ratio.isClear() ? Verdict::NoDifference : Verdict::Unknown;
}

/// Returns the numbers of a list of the row; empty if the row has no such list.
static std::vector<double> getNumbers(const json::Object &row, llvm::StringRef key) {
  std::vector<double> numbers;
  if (const json::Array *list = row.getArray(key))
    for (const json::Value &value : *list)
      if (std::optional<double> number = value.getAsNumber())
        numbers.push_back(*number);
  return numbers;
}

/// Returns a time of the row, or nullopt if it was not measured. The interval is unbounded if the row lacks the steps.
static std::optional<Ranged> getTime(const json::Object &row, const ColumnDescription &column) {
  std::optional<double> value = row.getNumber(column.key);
  if (!value || !std::isfinite(*value))
    return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::optional<Ranged> steps;
  for (const std::string &key : column.samples) {
    std::vector<double> samples = getNumbers(row, key);
    if (samples.empty())
      return Ranged{*value, -kInfinity, kInfinity};
    steps = steps ? subtract(*steps, getRangedMedian(samples)) : getRangedMedian(samples);
  }
  return widen(*steps, *value);
}

static json::Value getValue(const json::Object &row, llvm::StringRef key) {
  const json::Value *value = row.get(key);
  return value ? *value : json::Value(nullptr);
}

namespace {
/// Compares two files. A document or a row that one file lacks is null.
class Comparer {
public:
  Comparer(const ResultsFile &before, const ResultsFile &after, double tolerance,
           llvm::function_ref<void(llvm::StringRef)> report)
      : before(before), after(after), tolerance(tolerance), report(report) {}

  absl::Status run();
  Comparison takeComparison() { return std::move(comparison); }

private:
  /// A row of each file.
  struct Pair {
    const json::Object *before, *after;
  };

  absl::Status compare(const ResultsDocument *old, const ResultsDocument *current);
  /// Pairs rows that agree in the settings `keys`.
  absl::StatusOr<std::vector<Pair>> pairRows(const ResultsDocument &old, const ResultsDocument &current,
                                             llvm::ArrayRef<std::string> keys) const;
  absl::Status checkRowsDiffer(const ResultsFile &file, const ResultsDocument &document,
                               llvm::ArrayRef<std::string> keys) const;
  /// Appends the times of a pair of rows.
  void append(const ResultsDocument &document, const Pair &pair, llvm::ArrayRef<ColumnDescription> columns);
  /// Returns the columns of a role that both documents have with equal units, and warns of the others.
  std::vector<ColumnDescription> getSharedColumns(const ResultsDocument &old, const ResultsDocument &current,
                                                  llvm::function_ref<bool(const ColumnDescription &)> isWanted);
  void compareDevices(const ResultsDocument &old, const ResultsDocument &current);
  void addSettings(const ResultsDocument &document);
  void warn(const std::string &warning) {
    if (warnings.insert(warning).second)
      report(warning);
  }

  const ResultsFile &before, &after;
  double tolerance;
  llvm::function_ref<void(llvm::StringRef)> report;
  llvm::StringSet<> warnings;
  Comparison comparison;
  size_t pairs = 0;
};
} // namespace

static bool isSetting(const ColumnDescription &column) { return column.role == Role::Setting; }
static bool isTime(const ColumnDescription &column) { return !column.samples.empty(); }

static bool agree(const json::Object &a, const json::Object &b, llvm::ArrayRef<std::string> keys) {
  return llvm::all_of(keys, [&](const std::string &key) { return getValue(a, key) == getValue(b, key); });
}

static std::string describeSettings(const json::Object &row, llvm::ArrayRef<std::string> keys) {
  std::vector<std::string> texts;
  for (const std::string &key : keys)
    if (const json::Value *value = row.get(key); value && value->kind() != json::Value::Null)
      texts.push_back(llvm::formatv("{0} {1}", key, *value));
  return llvm::join(texts, ", ");
}

std::vector<ColumnDescription>
Comparer::getSharedColumns(const ResultsDocument &old, const ResultsDocument &current,
                           llvm::function_ref<bool(const ColumnDescription &)> isWanted) {
  std::vector<ColumnDescription> shared;
  auto warnOfMissing = [&](const ColumnDescription &column, const ResultsFile &file) {
    warn(llvm::formatv("the column '{0}' of {1} is only in '{2}' and is not compared", column.key, old.benchmark,
                       file.path));
  };
  for (const ColumnDescription &column : old.columns) {
    if (!isWanted(column))
      continue;
    const ColumnDescription *other = current.findColumn(column.key);
    if (!other || !isWanted(*other))
      warnOfMissing(column, before);
    else if (other->unit != column.unit)
      warn(llvm::formatv("the unit of '{0}' is {1} in '{2}' and {3} in '{4}': the column is not compared", column.key,
                         column.unit.value_or("missing"), before.path, other->unit.value_or("missing"), after.path));
    else
      shared.push_back(column);
  }
  for (const ColumnDescription &column : current.columns)
    if (const ColumnDescription *other = old.findColumn(column.key); isWanted(column) && (!other || !isWanted(*other)))
      warnOfMissing(column, after);
  return shared;
}

void Comparer::compareDevices(const ResultsDocument &old, const ResultsDocument &current) {
  auto describe = [](const json::Value &value) {
    return value.kind() == json::Value::Null ? "not named" : llvm::formatv("{0}", value).str();
  };
  for (llvm::StringRef key : {"kind", "gpu", "processor", "driver_version", "num_threads"}) {
    json::Value a = getValue(old.device, key), b = getValue(current.device, key);
    if (a != b)
      warn(llvm::formatv("the devices differ: {0} is {1} in '{2}' and {3} in '{4}'", key, describe(a), before.path,
                         describe(b), after.path));
  }
}

void Comparer::addSettings(const ResultsDocument &document) {
  for (const ColumnDescription &column : document.columns)
    if (isSetting(column) &&
        llvm::none_of(comparison.settings, [&](const ColumnDescription &each) { return each.key == column.key; }))
      comparison.settings.push_back(column);
}

absl::Status Comparer::checkRowsDiffer(const ResultsFile &file, const ResultsDocument &document,
                                       llvm::ArrayRef<std::string> keys) const {
  for (auto [index, row] : llvm::enumerate(document.rows))
    for (const json::Object &other : llvm::ArrayRef(document.rows).drop_front(index + 1))
      if (agree(row, other, keys))
        return absl::InvalidArgumentError(
            llvm::formatv("'{0}' has two rows of {1} with equal settings ({2}): remove one of them", file.path,
                          document.benchmark, describeSettings(row, keys))
                .str());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Comparer::Pair>>
Comparer::pairRows(const ResultsDocument &old, const ResultsDocument &current, llvm::ArrayRef<std::string> keys) const {
  if (absl::Status status = checkRowsDiffer(before, old, keys); !status.ok())
    return status;
  if (absl::Status status = checkRowsDiffer(after, current, keys); !status.ok())
    return status;
  std::vector<Pair> result;
  for (const json::Object &row : old.rows) {
    const auto *found =
        llvm::find_if(llvm::ArrayRef(current.rows), [&](const json::Object &other) { return agree(row, other, keys); });
    result.push_back({&row, found == llvm::ArrayRef(current.rows).end() ? nullptr : found});
  }
  for (const json::Object &row : current.rows)
    if (llvm::none_of(old.rows, [&](const json::Object &other) { return agree(row, other, keys); }))
      result.push_back({nullptr, &row});
  return result;
}

void Comparer::append(const ResultsDocument &document, const Pair &pair, llvm::ArrayRef<ColumnDescription> columns) {
  const json::Object &any = pair.before ? *pair.before : *pair.after;
  for (const ColumnDescription &column : columns) {
    std::optional<Ranged> old = pair.before ? getTime(*pair.before, column) : std::nullopt;
    std::optional<Ranged> current = pair.after ? getTime(*pair.after, column) : std::nullopt;
    if (!old && !current)
      continue;
    TimeComparison &time = comparison.times.emplace_back();
    time.benchmark = document.benchmark;
    for (const ColumnDescription &each : document.columns)
      if (isSetting(each))
        time.settings[each.key] = getValue(any, each.key);
    time.column = column.key;
    time.unit = column.unit.value_or("");
    time.verdict = old ? Verdict::OnlyBefore : Verdict::OnlyAfter;
    if (old)
      time.before = old->value;
    if (current)
      time.after = current->value;
    if (old && current) {
      time.ratio = divide(*old, *current);
      time.verdict = judge(*time.ratio, tolerance);
    }
  }
}

absl::Status Comparer::compare(const ResultsDocument *old, const ResultsDocument *current) {
  if (!old || !current) {
    const ResultsDocument &only = old ? *old : *current;
    addSettings(only);
    llvm::SmallVector<ColumnDescription> columns = llvm::to_vector(llvm::make_filter_range(only.columns, isTime));
    for (const json::Object &row : only.rows)
      append(only, old ? Pair{&row, nullptr} : Pair{nullptr, &row}, columns);
    return absl::OkStatus();
  }
  addSettings(*old);
  addSettings(*current);
  compareDevices(*old, *current);
  std::vector<std::string> keys;
  for (const ColumnDescription &column : getSharedColumns(*old, *current, isSetting))
    keys.push_back(column.key);
  absl::StatusOr<std::vector<Pair>> rows = pairRows(*old, *current, keys);
  if (!rows.ok())
    return rows.status();
  std::vector<ColumnDescription> columns = getSharedColumns(*old, *current, isTime);
  for (const Pair &pair : *rows) {
    pairs += pair.before && pair.after;
    append(pair.before ? *old : *current, pair, columns);
  }
  return absl::OkStatus();
}

/// Returns the document of the benchmark that has `index` others of it before it, or null.
static const ResultsDocument *findDocument(const ResultsFile &file, llvm::StringRef benchmark, size_t index) {
  for (const ResultsDocument &document : file.documents)
    if (document.benchmark == benchmark && index-- == 0)
      return &document;
  return nullptr;
}

/// Returns the distinct commands that measured the file, in its order.
static std::vector<std::string> listBenchmarks(const ResultsFile &file) {
  std::vector<std::string> benchmarks;
  for (const ResultsDocument &document : file.documents)
    if (!llvm::is_contained(benchmarks, document.benchmark))
      benchmarks.push_back(document.benchmark);
  return benchmarks;
}

/// Returns true if each row has the status of a measurement that failed.
static bool hasOnlyFailures(const ResultsFile &file) {
  return llvm::all_of(file.documents, [](const ResultsDocument &document) {
    return llvm::all_of(document.rows, [](const json::Object &row) {
      std::optional<llvm::StringRef> status = row.getString("status");
      return status && *status != "ok";
    });
  });
}

/// Returns the error of two files without a row in common.
static absl::Status describeNoPairs(const ResultsFile &before, const ResultsFile &after) {
  std::vector<std::string> old = listBenchmarks(before), current = listBenchmarks(after);
  if (llvm::none_of(old, [&](const std::string &benchmark) { return llvm::is_contained(current, benchmark); }))
    return absl::InvalidArgumentError(
        llvm::formatv("'{0}' has results of {1}, and '{2}' of {3}: compare results of the same command", before.path,
                      llvm::join(old, ", "), after.path, llvm::join(current, ", "))
            .str());
  return absl::InvalidArgumentError(
      llvm::formatv("no row of '{0}' has the settings of a row of '{1}': measure the same settings twice", before.path,
                    after.path)
          .str());
}

/// Returns the error of two files without a time to compare.
static absl::Status describeNoTimes(const ResultsFile &before, const ResultsFile &after) {
  for (const ResultsFile *file : {&before, &after})
    if (hasOnlyFailures(*file))
      return absl::InvalidArgumentError(
          llvm::formatv(
              "'{0}' has no times: all of its measurements failed, for the reasons in 'status'; measure again",
              file->path)
              .str());
  return absl::InvalidArgumentError(
      llvm::formatv("'{0}' and '{1}' have no times of steps in common: pass results of {2}, written with --format "
                    "json and without --columns",
                    before.path, after.path, "model, attention or allreduce")
          .str());
}

absl::Status Comparer::run() {
  if (before.version != after.version)
    return absl::InvalidArgumentError(
        llvm::formatv("the versions of the schema differ: {0} in '{1}' and {2} in '{3}': measure the older again, with "
                      "the program that measured the newer",
                      before.version, before.path, after.version, after.path)
            .str());
  std::vector<std::string> benchmarks;
  for (const ResultsFile *file : {&before, &after})
    for (const ResultsDocument &document : file->documents)
      if (!llvm::is_contained(benchmarks, document.benchmark))
        benchmarks.push_back(document.benchmark);
  for (const std::string &benchmark : benchmarks)
    for (size_t index = 0;; ++index) {
      const ResultsDocument *old = findDocument(before, benchmark, index);
      const ResultsDocument *current = findDocument(after, benchmark, index);
      if (!old && !current)
        break;
      if (absl::Status status = compare(old, current); !status.ok())
        return status;
    }
  if (pairs == 0)
    return describeNoPairs(before, after);
  if (comparison.times.empty())
    return describeNoTimes(before, after);
  return absl::OkStatus();
}

absl::StatusOr<Comparison> cs336::bench::compareResults(const ResultsFile &before, const ResultsFile &after,
                                                        double tolerance,
                                                        llvm::function_ref<void(llvm::StringRef)> warn) {
  Comparer comparer(before, after, tolerance, warn);
  if (absl::Status status = comparer.run(); !status.ok())
    return status;
  return comparer.takeComparison();
}
