//===- PublishedFigures.cpp - Figures of published write-ups --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Published/PublishedFigures.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace cs336::bench;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kPublished =
#include "Published.inc"
    ;

namespace {
/// Figures of one write-up that are the same column of results. benchmarks/README.md describes the members.
struct Group {
  std::string source, hardware, study;
  /// The settings that all rows share.
  json::Object settings;
  /// The keys of the other settings, whose values each row begins with.
  std::vector<std::string> by;
  /// The key of the column.
  std::string figure;
  /// The name of the figure with its unit. Empty if it is the title of the column.
  std::string title;
  /// The number of the write-up's units in one unit of the column.
  double scale;
  /// A difference between what the write-up and the column measure, or an empty text.
  std::string remark;
  json::Array rows;

  json::Object getSettings(const json::Array &row) const {
    json::Object all = settings;
    for (auto [index, key] : llvm::enumerate(by))
      all[key] = row[index];
    return all;
  }
};

/// A published figure, and a row of the results with its settings.
struct Match {
  const Group *group;
  double published;
  /// The value of the column in the row.
  const Cell *measured;
  llvm::ArrayRef<Cell> row;
};
} // namespace

/// Parses the embedded file, whose form the tests check.
static std::vector<Group> readGroups() {
  json::Value file = llvm::cantFail(json::parse(kPublished));
  std::vector<Group> groups;
  for (const json::Value &value : *file.getAsObject()->getArray("groups")) {
    const json::Object &object = *value.getAsObject();
    auto getText = [&](llvm::StringRef key) { return object.getString(key)->str(); };
    auto getOptional = [&](llvm::StringRef key) { return object.getString(key).value_or("").str(); };
    Group group{getText("source"),
                getText("hardware"),
                getText("study"),
                *object.getObject("settings"),
                {},
                getText("figure"),
                getOptional("title"),
                object.getNumber("scale").value_or(1),
                getOptional("remark"),
                *object.getArray("rows")};
    for (const json::Value &key : *object.getArray("by"))
      group.by.push_back(key.getAsString()->str());
    groups.push_back(std::move(group));
  }
  return groups;
}

static std::optional<size_t> findColumn(const Table &table, llvm::StringRef key) {
  const ColumnHead *found = llvm::find_if(table.getHeads(), [&](const ColumnHead &head) { return head.key == key; });
  if (found == table.getHeads().end())
    return std::nullopt;
  return found - table.getHeads().begin();
}

/// Returns true if the row has these values. A table without one of the columns has no such row.
static bool hasSettings(const Table &results, llvm::ArrayRef<Cell> row, const json::Object &settings) {
  return llvm::all_of(settings, [&](const auto &setting) {
    std::optional<size_t> column = findColumn(results, setting.first);
    return column && row[*column].value == setting.second;
  });
}

static std::vector<Match> findMatches(const Group &group, const Table &results) {
  std::vector<Match> matches;
  std::optional<size_t> figure = findColumn(results, group.figure);
  if (!figure)
    return matches;
  for (const json::Value &value : group.rows) {
    const json::Array &published = *value.getAsArray();
    json::Object settings = group.getSettings(published);
    for (const std::vector<Cell> &row : results.getRows())
      if (row[*figure].value.getAsNumber() && hasSettings(results, row, settings))
        matches.push_back({&group, *published.back().getAsNumber(), &row[*figure], row});
  }
  return matches;
}

/// Returns the number with up to `digits` digits.
static Cell makeNumber(double number, int digits) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, number);
  return {std::move(text), number};
}

/// Returns the measured value in the unit of the write-up.
static Cell makeMeasured(const Match &match) {
  if (match.group->scale == 1)
    return {match.measured->text, match.measured->value};
  return makeNumber(*match.measured->value.getAsNumber() * match.group->scale, 6);
}

static std::string describeHardware(const Report &report) {
  const json::Object *device = report.context.getObject("device");
  std::optional<llvm::StringRef> name = device ? device->getString("gpu") : std::nullopt;
  if (device && !name)
    name = device->getString("processor");
  return name.value_or("").str();
}

std::vector<std::string> cs336::bench::getPublishedStudies() {
  std::vector<std::string> studies;
  for (const Group &group : readGroups())
    if (!llvm::is_contained(studies, group.study))
      studies.push_back(group.study);
  return studies;
}

std::optional<Table> cs336::bench::makePublishedTable(llvm::StringRef study, const Report &report) {
  const Table &results = report.tables.front();
  std::vector<Group> groups = readGroups();
  std::vector<Match> matches;
  for (const Group &group : groups)
    if (group.study == study)
      llvm::append_range(matches, findMatches(group, results));
  if (matches.empty())
    return std::nullopt;

  std::vector<Column<Match>> columns;
  for (auto [index, head] : llvm::enumerate(results.getHeads()))
    if (head.role == Role::Setting)
      columns.push_back({head.title, head.key, [index = index](const Match &match) { return match.row[index]; },
                         head.show, head.role});
  auto getTitle = [&](const Match &match) {
    const ColumnHead &column = results.getHeads()[match.measured - match.row.data()];
    return Cell(match.group->title.empty() ? column.title : match.group->title);
  };
  std::string hardware = describeHardware(report);
  columns.push_back({"figure", "figure", getTitle});
  columns.push_back({"published", "published", [](const Match &match) { return makeNumber(match.published, 10); }});
  columns.push_back({"on", "published_on", [](const Match &match) { return Cell(match.group->hardware); }});
  columns.push_back({"this run", "measured", makeMeasured});
  columns.push_back({"on", "measured_on", [hardware](const Match &) { return Cell::optional(hardware); }});
  columns.push_back({"source", "source", [](const Match &match) { return Cell(match.group->source); }, Show::Text});
  columns.push_back(
      {"remark", "remark", [](const Match &match) { return Cell::optional(match.group->remark); }, Show::Text});
  return Table("published", "figures that write-ups have published for PyTorch, beside those of this run", columns,
               llvm::ArrayRef(matches));
}
