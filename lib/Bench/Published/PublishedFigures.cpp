//===- PublishedFigures.cpp - Figures of published write-ups --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Published/PublishedFigures.h"

#include "cs336/Bench/Report/ResultsSchema.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace cs336::bench;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kPublished =
#include "Published.inc"
    ;

namespace {
/// Figures of one write-up that are the same column of results.
struct Group {
  std::string source, hardware, study;
  /// The settings that all rows share.
  json::Object settings;
  /// The keys of the other settings, whose values each row begins with.
  std::vector<std::string> by;
  /// The key of the column.
  std::string figure;
  json::Array rows;

  json::Object getSettings(const json::Array &row) const {
    json::Object all = settings;
    for (auto [index, key] : llvm::enumerate(by))
      all[key] = row[index];
    return all;
  }
};

/// A published figure, and a row of a document with its settings.
struct Match {
  const Group *group;
  double published, measured;
  const json::Object *row;
};
} // namespace

/// Parses the embedded file, whose form the tests check.
static std::vector<Group> readGroups() {
  json::Value file = llvm::cantFail(json::parse(kPublished));
  std::vector<Group> groups;
  for (const json::Value &value : *file.getAsObject()->getArray("groups")) {
    const json::Object &object = *value.getAsObject();
    auto getText = [&](llvm::StringRef key) { return object.getString(key)->str(); };
    Group group{getText("source"), getText("hardware"),     getText("study"), *object.getObject("settings"), {},
                getText("figure"), *object.getArray("rows")};
    for (const json::Value &key : *object.getArray("by"))
      group.by.push_back(key.getAsString()->str());
    groups.push_back(std::move(group));
  }
  return groups;
}

static std::vector<Match> findMatches(const Group &group, const json::Array &results) {
  std::vector<Match> matches;
  for (const json::Value &value : group.rows) {
    const json::Array &published = *value.getAsArray();
    json::Object settings = group.getSettings(published);
    for (const json::Value &result : results) {
      const json::Object *row = result.getAsObject();
      std::optional<double> measured = row ? row->getNumber(group.figure) : std::nullopt;
      bool isEqual = measured && llvm::all_of(settings, [&](const auto &setting) {
                       const json::Value *own = row->get(setting.first);
                       return own && *own == setting.second;
                     });
      if (isEqual)
        matches.push_back({&group, *published.back().getAsNumber(), *measured, row});
    }
  }
  return matches;
}

static Cell makeNumber(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", number);
  return {std::move(text), number};
}

static Cell makeSetting(const json::Value *value) {
  if (!value || value->getAsNull())
    return Cell::empty();
  if (std::optional<llvm::StringRef> text = value->getAsString())
    return Cell(*text);
  if (std::optional<double> number = value->getAsNumber())
    return makeNumber(*number);
  return Cell::empty();
}

static std::vector<ColumnDescription> readColumns(const json::Object &document) {
  std::vector<ColumnDescription> columns;
  json::Path::Root root;
  if (const json::Value *described = document.get("columns"))
    fromJSON(*described, columns, root);
  return columns;
}

static std::string describeHardware(const json::Object &document) {
  const json::Object *device = document.getObject("device");
  std::optional<llvm::StringRef> name = device ? device->getString("gpu") : std::nullopt;
  if (device && !name)
    name = device->getString("processor");
  return name.value_or("").str();
}

std::optional<Table> cs336::bench::makePublishedTable(llvm::StringRef study, const json::Object &document) {
  const json::Array *results = document.getArray("results");
  if (!results)
    return std::nullopt;
  std::vector<Group> groups = readGroups();
  std::vector<Match> matches;
  for (const Group &group : groups)
    if (group.study == study)
      llvm::append_range(matches, findMatches(group, *results));
  if (matches.empty())
    return std::nullopt;

  std::vector<ColumnDescription> described = readColumns(document);
  std::vector<Column<Match>> columns;
  for (const ColumnDescription &column : described)
    if (column.role == Role::Setting)
      columns.push_back({column.title, column.key,
                         [key = column.key](const Match &match) { return makeSetting(match.row->get(key)); },
                         Show::Setting});
  auto getTitle = [&](const Match &match) {
    const auto *found = llvm::find_if(
        llvm::ArrayRef(described), [&](const ColumnDescription &column) { return column.key == match.group->figure; });
    return Cell(found == llvm::ArrayRef(described).end() ? match.group->figure : found->title);
  };
  std::string hardware = describeHardware(document);
  columns.push_back({"figure", "figure", getTitle});
  columns.push_back({"published", "published", [](const Match &match) { return makeNumber(match.published); }});
  columns.push_back({"on", "published_on", [](const Match &match) { return Cell(match.group->hardware); }});
  columns.push_back({"this run", "measured", [](const Match &match) { return makeNumber(match.measured); }});
  columns.push_back({"on", "measured_on", [hardware](const Match &) { return Cell::optional(hardware); }});
  columns.push_back({"source", "source", [](const Match &match) { return Cell(match.group->source); }, Show::Text});
  return Table("published", "figures that write-ups have published for PyTorch, beside those of this run", columns,
               llvm::ArrayRef(matches));
}
