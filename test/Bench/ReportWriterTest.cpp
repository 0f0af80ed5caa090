//===- ReportWriterTest.cpp - The formats of a report ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Report/ReportWriter.h"

#include "LineWidths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace cs336::bench::report_writer_test {

namespace json = llvm::json;
using ::testing::HasSubstr;

struct Row {
  std::string text;
  double number;
};

Table makeTable(std::string name, std::string title, std::vector<Row> rows) {
  std::vector<Column<Row>> columns{
      {"50% of #1 & {x_y}", "text", [](const Row &row) { return Cell(row.text); }},
      {"gap (µs)", "gap_us", [](const Row &row) { return Cell::number(row.number, 1); }},
      {"list", "list", [](const Row &row) { return Cell::data(json::Array{row.number, row.number}); }, Show::Data}};
  return {std::move(name), std::move(title), columns, llvm::ArrayRef(rows)};
}

/// Every character that one of the formats reads as more than itself.
constexpr const char *kSigns = R"(\ " ' , ; | ~ ^ < > # $ % & _ { } [ ] * ` @ - -- --- = + / //)";

Report makeReport() {
  Report report{json::Object{{"benchmark", "signs"}}, {makeTable("signs", "A_title & more", {{kSigns, 2.25}})}, {}};
  report.tables.push_back(makeTable("others", "", {{"two\nlines", 1}, {"", 30}}));
  report.notes = {"a note: 100 %", "  - [second]"};
  return report;
}

TEST(ReportWriterTest, ListingsKeepTheirLines) {
  Report report{{}, {makeTable("one", "", {{"a", 1}})}, {"a note"}, {{"text", "cuda", "if (a < b)\n  \"c\";\n"}}};
  EXPECT_EQ(print(report, Format::Table),
            "50% of #1 & {x_y}  gap (µs)\na                       1.0\n\ntext\n\nif (a < b)\n  \"c\";\n\na note\n");
  EXPECT_THAT(print(report, Format::Markdown), testing::HasSubstr("\n```cuda\nif (a < b)\n  \"c\";\n```\n"));
  EXPECT_THAT(print(report, Format::LaTeX),
              testing::HasSubstr("\\begin{verbatim}\nif (a < b)\n  \"c\";\n\\end{verbatim}\n"));
  EXPECT_THAT(print(report, Format::Typst),
              testing::HasSubstr(R"(#raw(block: true, lang: "cuda", "if (a < b)\n  \"c\";"))"));
  EXPECT_THAT(print(report, Format::HTML),
              testing::HasSubstr("<pre><code class=\"language-cuda\">if (a &lt; b)\n  &quot;c&quot;;</code></pre>\n"));
  EXPECT_THAT(print(report, Format::CSV), testing::Not(testing::HasSubstr("if (a < b)")));
}

TEST(ReportWriterTest, JSONHasNullForNumbersThatItLacks) {
  for (double number : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    Report report{json::Object{{"limit", number}}, {makeTable("one", "", {{"a", number}})}, {}};
    json::Value document = llvm::cantFail(json::parse(print(report, Format::JSON)));
    const json::Object &row = *(*document.getAsObject()->getArray("results"))[0].getAsObject();
    EXPECT_EQ(*row.get("gap_us"), json::Value(nullptr));
    EXPECT_EQ(*row.get("list"), json::Value(json::Array{nullptr, nullptr}));
    EXPECT_EQ(*document.getAsObject()->get("limit"), json::Value(nullptr));
  }
}

TEST(ReportWriterTest, LaTeXReadsNothingAsACommand) {
  EXPECT_EQ(print(makeReport(), Format::LaTeX),
            R"(\begin{table}
  \centering
  \caption{A\_title \& more}
  \begin{tabular}{lr}
    \hline
    50\% of \#1 \& \{x\_y\} & gap (\textmu{}s) \\
    \hline
    \textbackslash{} '' ' , ; \textbar{} \textasciitilde{} \textasciicircum{} \textless{} \textgreater{} \# \$ \% \& \_ \{ \} [ ] * ` @ - -{}- -{}-{}- = + / // & 2.2 \\
    \hline
  \end{tabular}
\end{table}

\begin{table}
  \centering
  \begin{tabular}{lr}
    \hline
    50\% of \#1 \& \{x\_y\} & gap (\textmu{}s) \\
    \hline
    two lines & 1.0 \\
     & 30.0 \\
    \hline
  \end{tabular}
\end{table}

a note: 100 \%\par
- [second]\par
)");
}

TEST(ReportWriterTest, TypstReadsCellsAsStrings) {
  EXPECT_EQ(print(makeReport(), Format::Typst),
            R"typst(#figure(
  caption: "A_title & more",
  table(
    columns: 2,
    align: (left, right, ),
    table.header("50% of #1 & {x_y}", "gap (µs)"),
    "\\ \" ' , ; | ~ ^ < > # $ % & _ { } [ ] * ` @ - -- --- = + / //", "2.2",
  ),
)

#figure(
  table(
    columns: 2,
    align: (left, right, ),
    table.header("50% of #1 & {x_y}", "gap (µs)"),
    "two\nlines", "1.0",
    "", "30.0",
  ),
)

#par("a note: 100 %")
#par("- [second]")
)typst");
}

TEST(ReportWriterTest, MarkdownKeepsCellsApart) {
  EXPECT_EQ(print({{}, {makeTable("t", "Title", {{"a|b", 1}, {"two\nlines", 20}})}, {}}, Format::Markdown),
            "Title\n"
            "\n"
            "| 50% of #1 & {x_y} | gap (µs) |\n"
            "|-------------------|---------:|\n"
            "| a\\|b              |      1.0 |\n"
            "| two lines         |     20.0 |\n");
}

TEST(ReportWriterTest, HTMLReadsNothingAsMarkup) {
  EXPECT_EQ(print({{}, {makeTable("t", "A <title>", {{"a<b & \"c\"", 1}})}, {"x < y"}}, Format::HTML),
            R"(<table>
  <caption>A &lt;title&gt;</caption>
  <tr><th>50% of #1 &amp; {x_y}</th><th style="text-align: right">gap (µs)</th></tr>
  <tr><td>a&lt;b &amp; &quot;c&quot;</td><td style="text-align: right">1.0</td></tr>
</table>

<p>x &lt; y</p>
)");
}

/// Records of CSV (RFC 4180); an empty line is a record without fields.
std::vector<std::vector<std::string>> parseCSV(llvm::StringRef text) {
  std::vector<std::vector<std::string>> records;
  while (!text.empty()) {
    std::vector<std::string> &record = records.emplace_back();
    if (text.consume_front("\n"))
      continue;
    for (bool more = true; more;) {
      std::string &field = record.emplace_back();
      if (text.consume_front("\"")) {
        while (!text.starts_with("\"") || text.starts_with("\"\"")) {
          field += text.front();
          text = text.drop_front(text.starts_with("\"\"") ? 2 : 1);
        }
        text = text.drop_front();
      } else {
        size_t end = text.find_first_of(",\n");
        field = text.take_front(end);
        text = text.drop_front(end);
      }
      more = text.consume_front(",");
    }
    EXPECT_TRUE(text.consume_front("\n"));
  }
  return records;
}

TEST(ReportWriterTest, CSVIsReadBack) {
  using Records = std::vector<std::vector<std::string>>;
  EXPECT_EQ(
      parseCSV(print(makeReport(), Format::CSV)),
      (Records{{"text", "gap_us"}, {kSigns, "2.2"}, {}, {"text", "gap_us"}, {"two\nlines", "1.0"}, {"", "30.0"}}));
}

TEST(ReportWriterTest, JSONIsReadBack) {
  json::Value document = llvm::cantFail(json::parse(print(makeReport(), Format::JSON)));
  // StoredPageTest reads it.
  EXPECT_TRUE(document.getAsObject()->erase("page"));
  EXPECT_EQ(
      document,
      json::Value(json::Object{
          {"schema", "cs336.results"},
          {"version", 2},
          {"benchmark", "signs"},
          {"columns",
           json::Array{
               json::Object{{"key", "text"}, {"title", "50% of #1 & {x_y}"}, {"unit", nullptr}, {"role", "result"}},
               json::Object{{"key", "gap_us"}, {"title", "gap (µs)"}, {"unit", "us"}, {"role", "result"}},
               json::Object{{"key", "list"}, {"title", "list"}, {"unit", nullptr}, {"role", "data"}}}},
          {"results",
           json::Array{json::Object{{"text", kSigns}, {"gap_us", 2.25}, {"list", json::Array{2.25, 2.25}}}}}}));
}

TEST(ReportWriterTest, TablesOfAPageFollowEachOther) {
  std::string text = print(makeReport(), Format::Table);
  EXPECT_THAT(text, ::testing::StartsWith("A_title & more\n\n50% of #1"));
  EXPECT_THAT(text, HasSubstr("2.2\n\n50% of #1"));
  EXPECT_THAT(text, ::testing::EndsWith("30.0\n\na note: 100 %\n  - [second]\n"));
}

TEST(ReportWriterTest, PagesShowPictures) {
  auto draw = [](Format format) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    ReportWriter::create(format)->writePicture("plots/a-1.png", "50 % & more", stream);
    return text;
  };
  EXPECT_EQ(draw(Format::Markdown), "![50 % & more](plots/a-1.png)\n");
  EXPECT_EQ(draw(Format::HTML), "<p><img src=\"plots/a-1.png\" alt=\"50 % &amp; more\"></p>\n");
  EXPECT_EQ(draw(Format::LaTeX), R"(\begin{figure}
  \centering
  \includegraphics[width=\linewidth]{plots/a-1.png}
  \caption{50 \% \& more}
\end{figure}
)");
  EXPECT_EQ(draw(Format::Typst), R"typst(#figure(
  caption: "50 % & more",
  image("plots/a-1.png"),
)
)typst");
}

TEST(ReportWriterTest, OnlyCSVHasOneTablePerFile) {
  for (Format format : {Format::Table, Format::Markdown, Format::LaTeX, Format::Typst, Format::JSON})
    EXPECT_FALSE(ReportWriter::create(format)->hasOneTablePerFile());
  EXPECT_TRUE(ReportWriter::create(Format::CSV)->hasOneTablePerFile());
}

} // namespace cs336::bench::report_writer_test
