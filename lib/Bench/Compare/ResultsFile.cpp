//===- ResultsFile.cpp - Results that a command has written ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Compare/ResultsFile.h"

#include "cs336/Support/ReadInput.h"
#include "cs336/Support/ReadJSON.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

const ColumnDescription *ResultsDocument::findColumn(llvm::StringRef key) const {
  const auto *found =
      llvm::find_if(llvm::ArrayRef(columns), [&](const ColumnDescription &column) { return column.key == key; });
  return found == llvm::ArrayRef(columns).end() ? nullptr : found;
}

static absl::Status makeError(llvm::StringRef path, const llvm::Twine &reason) {
  return absl::InvalidArgumentError(("'" + path + "': " + reason).str());
}

/// Returns the version of a document.
static absl::StatusOr<int64_t> getVersion(const json::Object &document, llvm::StringRef path) {
  const json::Value *schema = document.get("schema");
  if (!schema) {
    if (document.getString("benchmark") && document.getArray("results"))
      return kUnnamedVersion;
    return makeError(path, "it has no schema: expected results that a command of cs336-bench has written with --format "
                           "json");
  }
  if (schema->getAsString() != kResultsSchema)
    return makeError(path, llvm::formatv("its schema is {0}, expected \"{1}\": pass results that a command of "
                                         "cs336-bench has written with --format json",
                                         *schema, kResultsSchema));
  const json::Value *version = document.get("version");
  if (!version || version->getAsInteger() != kResultsVersion)
    return makeError(path, llvm::formatv("its version of {0} is {1}; this program reads version {2}, and documents "
                                         "without the member 'schema' as version {3}: use the cs336-bench that wrote "
                                         "the file, or measure again",
                                         kResultsSchema, version ? *version : json::Value("missing"), kResultsVersion,
                                         kUnnamedVersion));
  return kResultsVersion;
}

/// Returns descriptions of the columns that a row of the document has.
static std::vector<ColumnDescription> describeColumns(llvm::ArrayRef<ColumnHead> heads,
                                                      llvm::ArrayRef<json::Object> rows) {
  std::vector<ColumnDescription> columns;
  for (const ColumnHead &head : heads)
    if (llvm::any_of(rows, [&](const json::Object &row) { return row.get(head.key) != nullptr; }))
      columns.push_back(describeColumn(head));
  return columns;
}

static absl::StatusOr<ResultsDocument> readDocument(const json::Object &object, int64_t version, llvm::StringRef path,
                                                    FindColumns findColumns) {
  ResultsDocument document;
  std::optional<llvm::StringRef> benchmark = object.getString("benchmark");
  const json::Array *rows = object.getArray("results");
  if (!benchmark || !rows)
    return makeError(path, "its document lacks the text 'benchmark' or the array 'results'");
  document.benchmark = benchmark->str();
  if (const json::Object *device = object.getObject("device"))
    document.device = *device;
  for (const json::Value &row : *rows) {
    if (!row.getAsObject())
      return makeError(path, "an element of 'results' is not an object");
    document.rows.push_back(*row.getAsObject());
  }
  if (version == kUnnamedVersion) {
    std::vector<ColumnHead> heads = findColumns(document.benchmark);
    if (heads.empty())
      return makeError(path, "its benchmark '" + llvm::Twine(document.benchmark) +
                                 "' is not a command of cs336-bench, and documents of version 1 do not describe their "
                                 "columns: measure again");
    document.columns = describeColumns(heads, document.rows);
    return document;
  }
  const json::Value *columns = object.get("columns");
  json::Path::Root root("columns");
  if (!columns)
    return makeError(path, "its document lacks the array 'columns'");
  if (!json::fromJSON(*columns, document.columns, root))
    return makeError(path, llvm::toString(root.getError()));
  return document;
}

/// Returns the documents of a file.
static std::vector<const json::Value *> listDocuments(const json::Value &root) {
  const json::Array *array = root.getAsArray();
  if (const json::Object *record = root.getAsObject())
    array = record->getArray("documents");
  if (!array)
    return {&root};
  std::vector<const json::Value *> documents;
  for (const json::Value &document : *array)
    documents.push_back(&document);
  return documents;
}

absl::StatusOr<ResultsFile> cs336::bench::readResultsFile(llvm::StringRef path, FindColumns findColumns) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer = readInput(path);
  if (!buffer)
    return absl::InvalidArgumentError(llvm::toString(buffer.takeError()));
  llvm::Expected<json::Value> root = readJSON((*buffer)->getBuffer());
  if (!root)
    return makeError(path, llvm::toString(root.takeError()));
  ResultsFile file{path.str(), 0, {}};
  for (const json::Value *value : listDocuments(*root)) {
    const json::Object *object = value->getAsObject();
    if (!object)
      return makeError(path, "it is not results of cs336-bench: expected an object with the member 'schema'");
    absl::StatusOr<int64_t> version = getVersion(*object, path);
    if (!version.ok())
      return version.status();
    if (!file.documents.empty() && *version != file.version)
      return makeError(path, llvm::formatv("it mixes documents of versions {0} and {1}: compare one version at a time",
                                           file.version, *version));
    file.version = *version;
    absl::StatusOr<ResultsDocument> document = readDocument(*object, *version, path, findColumns);
    if (!document.ok())
      return document.status();
    file.documents.push_back(*std::move(document));
  }
  if (file.documents.empty())
    return makeError(path, "it has no results: expected one document that --format json has written, or several");
  return file;
}
