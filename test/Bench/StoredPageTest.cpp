//===- StoredPageTest.cpp - The page of a report in its document ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Report/StoredPage.h"

#include "LineWidths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench::stored_page_test {

namespace json = llvm::json;

struct Row {
  int64_t batch;
  std::string name;
  std::optional<double> time;
};

Table makeTable(std::vector<Row> rows) {
  auto getTime = [](const Row &row) {
    return row.time ? Cell::number(row.time, 3) : Cell::note("OOM", "OOM: memory does not suffice");
  };
  std::vector<Column<Row>> columns{
      {"batch", "batch_size", [](const Row &row) { return Cell::integer(row.batch); }, Show::Setting},
      {"time (ms)", "time_ms", getTime},
      {"median (ms)", "median_ms", [](const Row &row) { return Cell::number(row.time, 1); }, Show::Wide},
      {"spread", "spread", [](const Row &row) { return Cell::number(row.time, 2); }, Show::OnRequest},
      {"name", "name", [](const Row &row) { return Cell::optional(row.name); }, Show::Text},
      {"list", "list", [](const Row &row) { return Cell::data(json::Array{row.batch}); }, Show::Data}};
  return {"rows", "A title", columns, llvm::ArrayRef(rows)};
}

Report makeReport() {
  Report report{json::Object{{"benchmark", "rows"}}, {makeTable({{4, "long name", 1.25}, {4, "", std::nullopt}})}, {}};
  report.tables.push_back(makeTable({}));
  report.tables.push_back(makeTable({{4, "first", 1}, {8, "second", 2}}));
  report.tables.back().select({"name", "spread", "batch_size"});
  report.notes = {"a note", "  - another"};
  report.listings = {{"code", "cuda", "if (a)\n  b;\n"}};
  return report;
}

json::Value readPage() {
  json::Value document = llvm::cantFail(json::parse(print(makeReport(), Format::JSON)));
  return *document.getAsObject()->get(kPageKey);
}

TEST(StoredPageTest, EveryFormatWritesTheSamePage) {
  std::optional<Report> page = loadPage(readPage());
  ASSERT_TRUE(page);
  for (Format format : {Format::Table, Format::Markdown, Format::LaTeX, Format::Typst, Format::HTML})
    EXPECT_EQ(print(*page, format), print(makeReport(), format));
}

TEST(StoredPageTest, OnlyShownColumnsAreStored) {
  const json::Value page = readPage();
  auto getKeys = [&](size_t table) {
    std::vector<std::string> keys;
    for (const json::Value &column :
         *(*page.getAsObject()->getArray("tables"))[table].getAsObject()->getArray("columns"))
      keys.push_back(column.getAsObject()->getString("key")->str());
    return keys;
  };
  EXPECT_THAT(getKeys(0), ::testing::ElementsAre("batch_size", "time_ms", "median_ms", "name"));
  EXPECT_THAT(getKeys(2), ::testing::ElementsAre("name", "spread", "batch_size"));
}

TEST(StoredPageTest, OtherValuesAreNoPage) {
  EXPECT_FALSE(loadPage(nullptr));
  EXPECT_FALSE(loadPage(json::Object{{"tables", json::Array{}}}));
  json::Value page = readPage();
  json::Object &table = *(*page.getAsObject()->getArray("tables"))[0].getAsObject();
  table.getArray("rows")->push_back(json::Array{"one cell"});
  EXPECT_FALSE(loadPage(page));
  table.getArray("rows")->pop_back();
  EXPECT_TRUE(loadPage(page));
  (*table.getArray("columns"))[0].getAsObject()->operator[]("show") = "never";
  EXPECT_FALSE(loadPage(page));
}

} // namespace cs336::bench::stored_page_test
