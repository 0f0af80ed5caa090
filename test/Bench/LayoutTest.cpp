//===- LayoutTest.cpp - What a table shows where --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

#include "LineWidths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench::layout_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Row {
  int64_t batch, length;
  double time;
  std::string remark;
};

std::vector<Column<Row>> getColumns() {
  return {{"batch", "batch_size", [](const Row &row) { return Cell::integer(row.batch); }, Show::Setting},
          {"S", "length", [](const Row &row) { return Cell::integer(row.length); }, Show::Setting},
          {"time (ms)", "time_ms", [](const Row &row) { return Cell::number(row.time, 2); }},
          {"squared", "squared", [](const Row &row) { return Cell::number(row.time * row.time, 1); }, Show::OnRequest},
          {"remark", "remark", [](const Row &row) { return Cell::optional(row.remark); }, Show::Text},
          {"all", "all_data", [](const Row &row) { return Cell::data(llvm::json::Array{row.time}); }, Show::Data}};
}

Table makeTable(const std::vector<Row> &rows) { return {"rows", "", getColumns(), llvm::ArrayRef(rows)}; }

std::string printTable(const std::vector<Row> &rows, Format format = Format::Table) {
  return print({{}, {makeTable(rows)}, {}}, format);
}

TEST(LayoutTest, SharedSettingsStandOnceAboveTheTable) {
  EXPECT_EQ(printTable({{8, 16, 1.5, ""}, {8, 32, 20, ""}}), "batch: 8\n"
                                                             "\n"
                                                             " S  time (ms)\n"
                                                             "16       1.50\n"
                                                             "32      20.00\n");
}

TEST(LayoutTest, OneSettingLabelsRowsThatShareAll) {
  EXPECT_EQ(printTable({{8, 16, 1.5, ""}}), "S: 16\n"
                                            "\n"
                                            "batch  time (ms)\n"
                                            "    8       1.50\n");
}

TEST(LayoutTest, NoRowsAreATableToo) { EXPECT_EQ(printTable({}), "batch  S  time (ms)  remark\n"); }

TEST(LayoutTest, TextIsBrokenIntoLines) {
  std::string remark = "a remark of many words that say what was found, where it was found, and what there is to do "
                       "about it on a machine like this one";
  std::string text = printTable({{8, 16, 1.5, remark}, {8, 32, 2, "none"}});
  EXPECT_EQ(text,
            "batch: 8\n"
            "\n"
            " S  time (ms)  remark\n"
            "16       1.50  a remark of many words that say what was found, where it was found, and what there is "
            "to do about it on a\n"
            "               machine like this one\n"
            "32       2.00  none\n");
  EXPECT_LE(getWidestLine(text), 120);
  // Markdown has no lines within cells.
  EXPECT_THAT(printTable({{8, 16, 1.5, remark}}, Format::Markdown), HasSubstr("| " + remark + " |"));
}

TEST(LayoutTest, WordsThatAreLongerThanALineAreBroken) {
  EXPECT_THAT(breakLines("short", 3), ElementsAre("sho", "rt"));
  EXPECT_THAT(breakLines("ab cdefgh i", 4), ElementsAre("ab", "cdef", "gh i"));
  EXPECT_THAT(breakLines("a b", 80), ElementsAre("a b"));
  EXPECT_THAT(breakLines("", 80), ElementsAre(""));
  // No character is cut in two.
  EXPECT_THAT(breakLines("xµµx", 2), ElementsAre("x", "µ", "µx"));
}

struct Wide {
  std::string name;
  std::vector<double> numbers;
};

TEST(LayoutTest, ATableThatIsTooWideContinuesBelow) {
  std::vector<Column<Wide>> columns{{"name", "name", [](const Wide &row) { return Cell(row.name); }, Show::Setting}};
  for (size_t i = 0; i < 20; ++i)
    columns.push_back({"number " + std::to_string(i), "number_" + std::to_string(i),
                       [i](const Wide &row) { return Cell::number(row.numbers[i], 3); }});
  std::vector<Wide> rows{{"first", std::vector<double>(20, 1)}, {"second", std::vector<double>(20, 2)}};
  Table table("wide", "", columns, llvm::ArrayRef(rows));
  std::string text = print({{}, {table}, {}}, Format::Table);
  EXPECT_LE(getWidestLine(text), 120);
  for (size_t i = 0; i < 20; ++i)
    EXPECT_THAT(text, HasSubstr("number " + std::to_string(i)));
  // Every part says which rows these are.
  EXPECT_EQ(llvm::StringRef(text).count("second"), 2u) << text;
  // Lines of other formats have any width.
  for (Format format : {Format::Markdown, Format::LaTeX, Format::Typst, Format::HTML})
    EXPECT_EQ(llvm::StringRef(print({{}, {table}, {}}, format)).count("second"), 1u);
  // With selected columns there is one table.
  table.select({"all"});
  EXPECT_EQ(llvm::StringRef(print({{}, {table}, {}}, Format::Table)).count("second"), 1u);
}

TEST(LayoutTest, ANameIsTheFirstColumnOfEachPart) {
  std::vector<Column<Wide>> columns;
  for (size_t i = 0; i < 20; ++i)
    columns.push_back({"number " + std::to_string(i), "number_" + std::to_string(i),
                       [i](const Wide &row) { return Cell::number(row.numbers[i], 3); }});
  columns.push_back({"name", "name", [](const Wide &row) { return Cell(row.name); }, Show::Text});
  std::vector<Wide> rows{{"first", std::vector<double>(20, 1)},
                         {"a second " + std::string(90, 'x'), std::vector<double>(20, 2)}};
  std::string text = print({{}, {{"wide", "", columns, llvm::ArrayRef(rows)}}, {}}, Format::Table);
  EXPECT_LE(getWidestLine(text), 120);
  EXPECT_EQ(llvm::StringRef(text).count("\nname "), 3u) << text;
  EXPECT_EQ(llvm::StringRef(text).count("a second"), 4u) << text;
  EXPECT_THAT(text, ::testing::StartsWith("name "));
  // A table that fits keeps its order.
  rows[1].name = "second";
  columns.erase(columns.begin() + 3, columns.end() - 1);
  EXPECT_THAT(print({{}, {{"wide", "", columns, llvm::ArrayRef(rows)}}, {}}, Format::Table),
              ::testing::StartsWith("number 0  number 1  number 2  name"));
}

TEST(LayoutTest, TheTableFormatLeavesWideColumnsOut) {
  std::vector<Column<Wide>> columns{
      {"name", "name", [](const Wide &row) { return Cell(row.name); }},
      {"median", "median", [](const Wide &row) { return Cell::number(row.numbers[0], 1); }, Show::Wide}};
  std::vector<Wide> rows{{"first", {1}}};
  Table table("wide", "", columns, llvm::ArrayRef(rows));
  EXPECT_EQ(print({{}, {table}, {}}, Format::Table), "name\nfirst\n");
  for (Format format : {Format::Markdown, Format::LaTeX, Format::Typst, Format::HTML, Format::CSV})
    EXPECT_THAT(print({{}, {table}, {}}, format), HasSubstr("median"));
  table.select({"all"});
  EXPECT_EQ(print({{}, {table}, {}}, Format::Table), "name   median\nfirst     1.0\n");
}

TEST(LayoutTest, SelectedColumnsStandInTheirOrder) {
  Table table = makeTable({{8, 16, 1.5, ""}, {8, 32, 20, ""}});
  table.select({"squared", "batch_size"});
  EXPECT_EQ(print({{}, {table}, {}}, Format::Table), "squared  batch\n"
                                                     "    2.2      8\n"
                                                     "  400.0      8\n");
  EXPECT_EQ(print({{}, {table}, {}}, Format::CSV), "squared,batch_size\n2.2,8\n400.0,8\n");
}

TEST(LayoutTest, UnknownColumnsListTheKnownOnes) {
  std::vector<Column<Row>> columns = getColumns();
  std::vector<ColumnHead> heads(columns.begin(), columns.end());
  EXPECT_TRUE(checkColumns({"length", "squared"}, heads).ok());
  EXPECT_TRUE(checkColumns({"all"}, heads).ok());
  EXPECT_EQ(checkColumns({"length", "size"}, heads).message(),
            "--columns: unknown column 'size'; the columns are batch_size, length, time_ms, squared, remark, "
            "all_data; or all");
  EXPECT_EQ(checkColumns({"length", "length"}, heads).message(), "--columns names 'length' twice");
  EXPECT_EQ(checkColumns({"length", "length"}, heads, "--profile-columns").message(),
            "--profile-columns names 'length' twice");
  EXPECT_FALSE(checkColumns({"all", "length"}, heads).ok());
  EXPECT_FALSE(checkColumns({""}, heads).ok());
}

TEST(LayoutTest, EmptyColumnsAreLeftOut) {
  Table table = makeTable({{8, 16, 1.5, ""}});
  EXPECT_THAT(print({{}, {table}, {}}, Format::Table), Not(HasSubstr("remark")));
  table.select({"all"});
  EXPECT_EQ(print({{}, {table}, {}}, Format::Table), "batch   S  time (ms)  squared\n"
                                                     "    8  16       1.50      2.2\n");
}

} // namespace cs336::bench::layout_test
