//===- OutputFlags.cpp - Where and how a report is written ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Command/OutputFlags.h"

#include "cs336/Driver/Flags/OutputFile.h"
#include "cs336/Driver/Tool/Version.h"
#include "cs336/Support/WriteOutput.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace path = llvm::sys::path;

OutputFlags::OutputFlags(cl::OptionCategory &category, cl::SubCommand &subcommand)
    : format("format", cl::desc("Format of the results (default table)"), cl::init(Format::Table),
             cl::values(clEnumValN(Format::Table, "table", "aligned columns"),
                        clEnumValN(Format::Markdown, "markdown", "Markdown tables"),
                        clEnumValN(Format::LaTeX, "latex", "LaTeX tables, without packages"),
                        clEnumValN(Format::Typst, "typst", "Typst tables"),
                        clEnumValN(Format::HTML, "html", "HTML tables"),
                        clEnumValN(Format::CSV, "csv", "comma-separated values; an empty line between two tables"),
                        clEnumValN(Format::JSON, "json", "everything that was measured")),
             cl::cat(category), cl::sub(subcommand)),
      columns("columns",
              cl::desc("Columns of the first table, in this order, instead of those that fit 120 characters; all "
                       "shows every column, and a name that is unknown lists the known ones"),
              cl::value_desc("name,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      path("output",
           cl::desc("File for the results, instead of standard output. As CSV, each further table gets its own file: "
                    "NAME-TABLE.csv"),
           cl::value_desc("file"), cl::cat(category), cl::sub(subcommand)) {}

absl::Status OutputFlags::check(llvm::ArrayRef<ColumnHead> known) const {
  if (columns.getNumOccurrences() > 0)
    if (absl::Status status = checkColumns(std::vector<std::string>(columns.begin(), columns.end()), known);
        !status.ok())
      return status;
  return checkOutputFile("--output", path);
}

std::string cs336::bench::getTablePath(llvm::StringRef file, llvm::StringRef name) {
  llvm::SmallString<128> result = path::parent_path(file);
  path::append(result, path::stem(file) + "-" + name + path::extension(file));
  return result.str().str();
}

/// Writes results, to standard output if the file cannot be written: they may have taken hours.
static absl::Status writeFile(const ReportWriter &writer, const Report &report, llvm::StringRef path) {
  llvm::Error error = writeOutput(path, [&](llvm::raw_ostream &stream) {
    writer.write(report, stream);
    return llvm::Error::success();
  });
  if (!error)
    return absl::OkStatus();
  std::string reason = absl::StrCat("--output: cannot write '", path.str(), "': ", llvm::toString(std::move(error)));
  if (path == "-")
    return absl::UnavailableError(reason);
  writer.write(report, llvm::outs());
  llvm::outs().flush();
  return absl::UnavailableError(absl::StrCat(reason, "; the results are in standard output"));
}

/// Returns whether a sweep ended before its first cell.
static bool isEmpty(const Report &report) {
  return report.context.getBoolean("incomplete").value_or(false) && report.tables.front().getRows().empty();
}

absl::Status OutputFlags::write(Report report) const {
  if (!path.empty() && isEmpty(report))
    return absl::OkStatus();
  report.context["producer"] = llvm::json::Object{{"version", getProjectVersion()}, {"commit", getCommit()}};
  if (columns.getNumOccurrences() > 0)
    report.tables.front().select(std::vector<std::string>(columns.begin(), columns.end()));
  std::unique_ptr<ReportWriter> writer = ReportWriter::create(format);
  if (path.empty()) {
    writer->write(report, llvm::outs());
    llvm::outs().flush();
    return absl::OkStatus();
  }
  // A device or a pipe has no other files beside it.
  bool isFile = path != "-" && (!llvm::sys::fs::exists(path) || llvm::sys::fs::is_regular_file(path));
  if (!writer->hasOneTablePerFile() || !isFile)
    return writeFile(*writer, report, path);
  absl::Status status;
  for (const Table &table : report.tables) {
    Report single{{}, {table}, {}};
    bool isFirst = &table == &report.tables.front();
    std::string file = isFirst ? path.getValue() : getTablePath(path, table.getName());
    status.Update(writeFile(*writer, single, file));
  }
  return status;
}
