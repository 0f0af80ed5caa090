//===- StoredPage.cpp - The page of a report in its document --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Report/StoredPage.h"

#include "llvm/ADT/STLExtras.h"

using namespace cs336::bench;
namespace json = llvm::json;

static constexpr std::pair<Show, llvm::StringLiteral> kShows[] = {
    {Show::Setting, "setting"}, {Show::Result, "result"}, {Show::Text, "text"}, {Show::Wide, "wide"}};
static constexpr llvm::StringLiteral kLeft = "left", kRight = "right";

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Returns the name of how formats show the column, or nullopt if they do not show it.
static std::optional<llvm::StringRef> getShow(const Table &table, Show show) {
  if (table.isSelected() && show != Show::Data)
    return "result";
  const auto *known = llvm::find_if(kShows, [&](const auto &each) { return each.first == show; });
  return known == std::end(kShows) ? std::nullopt : std::optional<llvm::StringRef>(known->second);
}

static json::Value storeCell(const Cell &cell) {
  if (cell.footnote.empty())
    return cell.text;
  return json::Object{{"text", cell.text}, {"footnote", cell.footnote}};
}

static json::Value storeTable(const Table &table) {
  json::Array columns;
  std::vector<size_t> shown;
  for (auto [index, head] : llvm::enumerate(table.getHeads())) {
    std::optional<llvm::StringRef> show = getShow(table, head.show);
    if (!show)
      continue;
    shown.push_back(index);
    columns.push_back(json::Object{
        {"key", head.key}, {"title", head.title}, {"show", *show}, {"align", table.isText(index) ? kLeft : kRight}});
  }
  json::Array rows;
  for (const std::vector<Cell> &row : table.getRows())
    rows.push_back(json::Array(llvm::map_range(shown, [&](size_t column) { return storeCell(row[column]); })));
  return json::Object{{"name", table.getName()},
                      {"title", table.getTitle()},
                      {"selected", table.isSelected()},
                      {"columns", std::move(columns)},
                      {"rows", std::move(rows)}};
}

static json::Value storeListing(const Listing &listing) {
  return json::Object{{"title", listing.title}, {"language", listing.language}, {"text", listing.text}};
}

json::Object cs336::bench::storePage(const Report &report) {
  return json::Object{{"tables", json::Array(llvm::map_range(report.tables, storeTable))},
                      {"listings", json::Array(llvm::map_range(report.listings, storeListing))},
                      {"notes", json::Array(report.notes)}};
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
struct PageColumn {
  std::string key, title, show, align;
};

struct PageCell {
  std::string text, footnote;
};

struct PageTable {
  std::string name, title;
  bool selected = false;
  std::vector<PageColumn> columns;
  std::vector<std::vector<PageCell>> rows;
};

// ObjectMapper finds them in the namespace of their types.
bool fromJSON(const json::Value &value, PageColumn &column, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("key", column.key) && map.map("title", column.title) && map.map("show", column.show) &&
         map.map("align", column.align);
}

bool fromJSON(const json::Value &value, PageCell &cell, json::Path path) {
  if (std::optional<llvm::StringRef> text = value.getAsString()) {
    cell.text = text->str();
    return true;
  }
  json::ObjectMapper map(value, path);
  return map && map.map("text", cell.text) && map.map("footnote", cell.footnote);
}

bool fromJSON(const json::Value &value, PageTable &table, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", table.name) && map.map("title", table.title) && map.map("selected", table.selected) &&
         map.map("columns", table.columns) && map.map("rows", table.rows);
}
} // namespace

namespace cs336::bench {
static bool fromJSON(const json::Value &value, Listing &listing, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("title", listing.title) && map.map("language", listing.language) &&
         map.map("text", listing.text);
}
} // namespace cs336::bench

/// Returns a cell that formats align as the column was.
static Cell makeCell(const PageCell &stored, bool isLeft) {
  Cell cell = isLeft ? Cell(stored.text) : Cell::note(stored.text);
  cell.footnote = stored.footnote;
  return cell;
}

/// Returns nullopt if a row has another number of cells than the table has columns, or a column is not shown.
static std::optional<Table> makeTable(const PageTable &stored) {
  using Row = std::vector<PageCell>;
  std::vector<Column<Row>> columns;
  for (auto [index, column] : llvm::enumerate(stored.columns)) {
    const auto *show =
        llvm::find_if(kShows, [&, &name = column.show](const auto &each) { return each.second == name; });
    if (show == std::end(kShows))
      return std::nullopt;
    columns.push_back({column.title, column.key,
                       [index, isLeft = column.align == kLeft](const Row &row) { return makeCell(row[index], isLeft); },
                       show->first});
  }
  if (llvm::any_of(stored.rows, [&](const Row &row) { return row.size() != columns.size(); }))
    return std::nullopt;
  Table table(stored.name, stored.title, columns, llvm::ArrayRef(stored.rows));
  if (stored.selected)
    table.select({"all"});
  return table;
}

std::optional<Report> cs336::bench::loadPage(const json::Value &value) {
  Report report;
  std::vector<PageTable> tables;
  json::Path::Root root;
  json::ObjectMapper map(value, root);
  if (!map || !map.map("tables", tables) || !map.map("listings", report.listings) || !map.map("notes", report.notes))
    return std::nullopt;
  for (const PageTable &stored : tables) {
    std::optional<Table> table = makeTable(stored);
    if (!table)
      return std::nullopt;
    report.tables.push_back(*std::move(table));
  }
  return report;
}
