//===- StudyReport.cpp - The report of a series of studies ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyReport.h"

#include "cs336/Bench/Report/ReportWriter.h"
#include "cs336/Bench/Report/StoredPage.h"
#include "cs336/Support/WriteOutput.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

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

/// Returns whether the picture shows the document, or its memory over time.
static bool shows(llvm::StringRef picture, llvm::StringRef document) {
  document.consume_back(".json");
  if (!picture.consume_back(".png"))
    return false;
  picture.consume_back("-timeline");
  return picture.rsplit('/').second == document;
}

static void writeEntry(const ReportWriter &writer, const StudyEntry &entry, Report page,
                       llvm::ArrayRef<std::string> pictures, llvm::raw_ostream &stream) {
  stream << "\n";
  writer.writeHeading(entry.study, 2, stream);
  page.notes.push_back(entry.command);
  writer.write(page, stream);
  for (const std::string &picture : pictures)
    if (shows(picture, entry.document)) {
      stream << "\n";
      writer.writePicture(picture, entry.command, stream);
    }
}

static void writeStudies(const ReportWriter &writer, llvm::StringRef folder, llvm::ArrayRef<StudyEntry> entries,
                         llvm::ArrayRef<std::string> pictures, Edition edition, llvm::raw_ostream &stream) {
  writer.writeHeading(("Studies, edition " + stringifyEdition(edition)).str(), 1, stream);
  writer.write(makeOverview(entries), stream);
  for (const StudyEntry &entry : entries) {
    std::optional<json::Object> document =
        entry.hasResults() ? readDocument(StudyRecord(folder.str()).getPath(entry.document)) : std::nullopt;
    if (!document)
      continue;
    if (std::optional<Report> page = loadPage(*document->get(kPageKey)))
      writeEntry(writer, entry, *std::move(page), pictures, stream);
  }
}

absl::Status cs336::bench::writeStudyReport(llvm::StringRef folder, llvm::ArrayRef<StudyEntry> entries,
                                            llvm::ArrayRef<std::string> pictures, Edition edition) {
  constexpr std::pair<Format, llvm::StringLiteral> kFiles[] = {{Format::Markdown, "report.md"},
                                                               {Format::HTML, "report.html"},
                                                               {Format::LaTeX, "report.tex"},
                                                               {Format::Typst, "report.typ"}};
  for (auto [format, file] : kFiles) {
    std::string path = StudyRecord(folder.str()).getPath(file);
    llvm::Error error = writeOutput(path, [&, format = format](llvm::raw_ostream &stream) {
      if (format == Format::HTML)
        stream << "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>Studies</title>\n";
      writeStudies(*ReportWriter::create(format), folder, entries, pictures, edition, stream);
      return llvm::Error::success();
    });
    if (error)
      return absl::UnavailableError(
          absl::StrCat("--out: cannot write '", path, "': ", llvm::toString(std::move(error))));
  }
  return absl::OkStatus();
}
