//===- StudyRecord.cpp - The commands of a series of studies --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyRecord.h"

#include "cs336/Bench/Report/ResultsSchema.h"
#include "cs336/Bench/Report/StoredPage.h"
#include "cs336/Support/ReadJSON.h"
#include "cs336/Support/WriteOutput.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kFile = "studies.json", kSchema = "cs336.studies";
static constexpr llvm::StringRef kStates[] = {"waiting", "complete",    "peer missing",
                                              "failed",  "interrupted", "left out"};

llvm::StringRef cs336::bench::stringifyState(StudyEntry::State state) { return kStates[static_cast<size_t>(state)]; }

static std::optional<json::Object> readObject(llvm::StringRef path, llvm::StringRef schema) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return std::nullopt;
  llvm::Expected<json::Value> value = readJSON((*buffer)->getBuffer());
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  json::Object *object = value->getAsObject();
  if (!object || object->getString("schema") != schema)
    return std::nullopt;
  return std::move(*object);
}

std::optional<json::Object> cs336::bench::readDocument(llvm::StringRef path) {
  std::optional<json::Object> document = readObject(path, kResultsSchema);
  if (!document || !document->getArray("results") || !document->get(kPageKey))
    return std::nullopt;
  return document;
}

static StudyEntry readEntry(const json::Object &object) {
  auto getText = [&](llvm::StringRef key) { return object.getString(key).value_or("").str(); };
  StudyEntry entry{getText("study"), getText("command"), getText("document"), getText("build"), {}, getText("error")};
  if (const auto *state = llvm::find(kStates, getText("state")); state != std::end(kStates))
    entry.state = static_cast<StudyEntry::State>(state - kStates);
  return entry;
}

static json::Object writeEntry(const StudyEntry &entry) {
  return json::Object{{"study", entry.study}, {"command", entry.command}, {"document", entry.document},
                      {"build", entry.build}, {"error", entry.error},     {"state", stringifyState(entry.state)}};
}

StudyRecord::StudyRecord(std::string folderPath) : folder(std::move(folderPath)) {
  std::optional<json::Object> record = readObject(getPath(kFile), kSchema);
  const json::Array *commands = record ? record->getArray("commands") : nullptr;
  if (!commands)
    return;
  for (const json::Value &command : *commands)
    if (const json::Object *object = command.getAsObject())
      earlier.push_back(readEntry(*object));
}

std::string StudyRecord::getPath(llvm::StringRef file) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, file);
  return path.str().str();
}

const StudyEntry *StudyRecord::find(const StudyEntry &entry) const {
  auto found = llvm::find_if(earlier, [&](const StudyEntry &known) {
    return known.study == entry.study && known.command == entry.command && known.document == entry.document &&
           known.build == entry.build;
  });
  return found == earlier.end() ? nullptr : &*found;
}

bool StudyRecord::findFinished(StudyEntry &entry) const {
  const StudyEntry *known = find(entry);
  if (!known || !known->hasResults() || !readDocument(getPath(known->document)))
    return false;
  entry = *known;
  return true;
}

absl::Status StudyRecord::write(llvm::ArrayRef<StudyEntry> entries) const {
  json::Array commands;
  for (const StudyEntry &entry : entries)
    commands.push_back(writeEntry(entry));
  llvm::Error error = writeOutput(getPath(kFile), [&](llvm::raw_ostream &stream) {
    json::Object record{{"schema", kSchema}, {"version", 1}, {"commands", std::move(commands)}};
    stream << llvm::formatv("{0:2}", json::Value(std::move(record))) << "\n";
    return llvm::Error::success();
  });
  if (!error)
    return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("--out: cannot write '", getPath(kFile), "': ", llvm::toString(std::move(error))));
}
