//===- JSONWriter.cpp - Reports as JSON -----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Writers.h"
#include "cs336/Bench/Report/ResultsSchema.h"
#include "cs336/Bench/Report/StoredPage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <optional>

using namespace cs336::bench;
namespace json = llvm::json;

/// Replaces NaN and infinities, which JSON lacks, by null.
static void makeValid(json::Value &value) {
  if (std::optional<double> number = value.getAsNumber(); number && !std::isfinite(*number))
    value = nullptr;
  if (json::Array *array = value.getAsArray())
    llvm::for_each(*array, makeValid);
  if (json::Object *object = value.getAsObject())
    for (auto &member : *object)
      makeValid(member.second);
}

namespace {
class JSONWriter : public ReportWriter {
  void write(const Report &report, llvm::raw_ostream &stream) const override {
    json::Object document = report.context;
    const Table &table = report.tables.front();
    document["schema"] = kResultsSchema;
    document["version"] = kResultsVersion;
    document["columns"] = json::Array(llvm::map_range(table.getHeads(), describeColumn));
    document["results"] = table.getObjects();
    document[kPageKey] = storePage(report);
    json::Value value(std::move(document));
    makeValid(value);
    stream << llvm::formatv("{0:2}", value) << "\n";
  }
};
} // namespace

std::unique_ptr<ReportWriter> cs336::bench::createJSONWriter() { return std::make_unique<JSONWriter>(); }
