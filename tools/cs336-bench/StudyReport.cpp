//===- StudyReport.cpp - The report of a series of studies ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyReport.h"

#include "cs336/Bench/Report/ReportWriter.h"
#include "cs336/Bench/Report/ResultsSchema.h"
#include "cs336/Support/WriteOutput.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include "absl/strings/str_cat.h"

#include <cmath>
#include <set>

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

using DocumentColumn = Column<const json::Object *>;

static Cell makeCell(const json::Value *value) {
  if (!value || value->getAsNull())
    return Cell::empty();
  if (std::optional<llvm::StringRef> text = value->getAsString())
    return Cell(*text);
  if (std::optional<bool> flag = value->getAsBoolean())
    return Cell(flag.value() ? "yes" : "no", *value);
  if (std::optional<int64_t> integer = value->getAsInteger())
    return Cell::integer(*integer);
  if (std::optional<double> number = value->getAsNumber()) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format(std::fabs(*number) >= 1000 ? "%.1f" : "%.4g", *number);
    return Cell(text, *value);
  }
  return Cell::data(*value);
}

/// Returns how tables show a column of a document: in the same way as the command. Commands do not list the columns of
/// a peer.
static Show getShow(llvm::ArrayRef<ColumnHead> heads, const ColumnDescription &column) {
  const auto *head = llvm::find_if(heads, [&](const ColumnHead &known) { return known.key == column.key; });
  if (head != heads.end())
    return head->show;
  llvm::StringRef key = column.key;
  if (column.role == Role::Data)
    return Show::Data;
  return key.ends_with("_median_ms") || key.ends_with("_ratio") ? Show::Result : Show::OnRequest;
}

static std::vector<DocumentColumn> makeColumns(const json::Object &document, llvm::ArrayRef<ColumnHead> heads) {
  std::vector<DocumentColumn> columns;
  json::Path::Root root;
  for (const json::Value &value : *document.getArray("columns")) {
    ColumnDescription column;
    if (!fromJSON(value, column, root))
      continue;
    columns.push_back({column.title, column.key,
                       [key = column.key](const json::Object *row) { return makeCell(row->get(key)); },
                       getShow(heads, column), column.role});
  }
  return columns;
}

namespace {
/// An object within a row of a document: one kernel of a profile.
struct InnerRow {
  const json::Object *outer, *inner;
};
} // namespace

/// Returns the table of the objects that a column's cells list, at most ten per row, or nullopt if there are none.
static std::optional<Table> makeInnerTable(const DocumentColumn &column, llvm::ArrayRef<DocumentColumn> columns,
                                           llvm::ArrayRef<const json::Object *> rows) {
  constexpr size_t kMost = 10;
  std::vector<InnerRow> inner;
  std::set<std::string> keys;
  for (const json::Object *row : rows) {
    const json::Array *list = row->getArray(column.key);
    if (!list)
      continue;
    for (const json::Value &value : llvm::make_range(list->begin(), list->begin() + std::min(kMost, list->size())))
      if (const json::Object *object = value.getAsObject()) {
        inner.push_back({row, object});
        for (const auto &[key, member] : *object)
          keys.insert(llvm::StringRef(key).str());
      }
  }
  if (inner.empty())
    return std::nullopt;
  std::vector<Column<InnerRow>> shown;
  for (const DocumentColumn &setting : columns)
    if (setting.show == Show::Setting)
      shown.push_back({setting.title, setting.key,
                       [extract = setting.extract](const InnerRow &row) { return extract(row.outer); }, Show::Setting});
  for (const std::string &key : keys)
    shown.push_back({key, key, [key](const InnerRow &row) { return makeCell(row.inner->get(key)); }});
  return Table(column.key, column.title, shown, llvm::ArrayRef(inner));
}

/// Returns the tables of a document. The columns of its results are those that the command shows, and the status if one
/// is not "ok".
static Report makeReport(const json::Object &document, llvm::ArrayRef<ColumnHead> heads) {
  std::vector<const json::Object *> rows;
  for (const json::Value &value : *document.getArray("results"))
    if (const json::Object *row = value.getAsObject())
      rows.push_back(row);
  std::vector<DocumentColumn> columns = makeColumns(document, heads);
  for (DocumentColumn &column : columns)
    if (column.key == "status" &&
        llvm::any_of(rows, [](const json::Object *row) { return row->getString("status").value_or("ok") != "ok"; }))
      column.show = Show::Result;
  Report report{{}, {Table("results", "", columns, llvm::ArrayRef(rows))}, {}};
  for (const DocumentColumn &column : columns)
    if (column.show == Show::Data)
      if (std::optional<Table> table = makeInnerTable(column, columns, rows))
        report.tables.push_back(*std::move(table));
  return report;
}

static Report makeOverview(llvm::ArrayRef<StudyEntry> entries) {
  using Row = StudyEntry;
  std::vector<Column<Row>> columns{{"study", "study", [](const Row &row) { return Cell(row.study); }},
                                   {"state", "state", [](const Row &row) { return Cell(stringifyState(row.state)); }},
                                   {"results", "document", [](const Row &row) { return Cell(row.document); }}};
  Report report{{}, {Table("studies", "", columns, entries)}, {}};
  for (const StudyEntry &entry : entries)
    if (!entry.error.empty())
      report.notes.push_back(absl::StrCat(entry.document, ": ", entry.error));
  return report;
}

static std::vector<ColumnHead> getHeads(llvm::ArrayRef<Command *> commands, llvm::StringRef benchmark) {
  for (Command *command : commands)
    if (command->getSubCommand().getName() == benchmark)
      return command->getColumns();
  return {};
}

static void writeStudies(const ReportWriter &writer, llvm::StringRef folder, llvm::ArrayRef<StudyEntry> entries,
                         llvm::ArrayRef<Command *> commands, Edition edition, llvm::raw_ostream &stream) {
  writer.writeHeading(("Studies, edition " + stringifyEdition(edition)).str(), 1, stream);
  writer.write(makeOverview(entries), stream);
  for (const StudyEntry &entry : entries) {
    std::optional<json::Object> document =
        entry.hasResults() ? readDocument(StudyRecord(folder.str()).getPath(entry.document)) : std::nullopt;
    if (!document)
      continue;
    stream << "\n";
    writer.writeHeading(entry.study, 2, stream);
    Report report = makeReport(*document, getHeads(commands, document->getString("benchmark").value_or("")));
    report.notes.push_back(entry.command);
    writer.write(report, stream);
  }
}

absl::Status cs336::bench::writeStudyReport(llvm::StringRef folder, llvm::ArrayRef<StudyEntry> entries,
                                            llvm::ArrayRef<Command *> commands, Edition edition) {
  constexpr std::pair<Format, llvm::StringLiteral> kFiles[] = {{Format::Markdown, "report.md"},
                                                               {Format::HTML, "report.html"},
                                                               {Format::LaTeX, "report.tex"},
                                                               {Format::Typst, "report.typ"}};
  for (auto [format, file] : kFiles) {
    std::string path = StudyRecord(folder.str()).getPath(file);
    llvm::Error error = writeOutput(path, [&, format = format](llvm::raw_ostream &stream) {
      if (format == Format::HTML)
        stream << "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>Studies</title>\n";
      writeStudies(*ReportWriter::create(format), folder, entries, commands, edition, stream);
      return llvm::Error::success();
    });
    if (error)
      return absl::UnavailableError(
          absl::StrCat("--out: cannot write '", path, "': ", llvm::toString(std::move(error))));
  }
  return absl::OkStatus();
}
