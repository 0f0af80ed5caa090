//===- Table.cpp - Rows of cells under named columns ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Report/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include "absl/strings/str_cat.h"

using namespace cs336::bench;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kAll = "all";

bool Table::hasText(size_t column) const {
  return llvm::any_of(rows, [&](const std::vector<Cell> &row) { return !row[column].text.empty(); });
}

bool Table::isText(size_t column) const {
  return llvm::any_of(rows, [&](const std::vector<Cell> &row) {
    json::Value::Kind kind = row[column].value.kind();
    return kind == json::Value::String || kind == json::Value::Array;
  });
}

json::Array Table::getObjects() const {
  json::Array objects;
  for (const std::vector<Cell> &row : rows) {
    json::Object object;
    for (auto [head, cell] : llvm::zip_equal(heads, row))
      object[head.key] = cell.value;
    objects.push_back(std::move(object));
  }
  return objects;
}

void Table::select(llvm::ArrayRef<std::string> keys) {
  selected = true;
  if (keys.size() == 1 && keys.front() == kAll)
    return;
  std::vector<size_t> kept;
  for (const std::string &key : keys) {
    const auto *found = llvm::find_if(llvm::ArrayRef(heads), [&](const ColumnHead &head) { return head.key == key; });
    if (found != llvm::ArrayRef(heads).end())
      kept.push_back(found - heads.data());
  }
  std::vector<ColumnHead> keptHeads;
  for (size_t column : kept)
    keptHeads.push_back(heads[column]);
  heads = std::move(keptHeads);
  for (std::vector<Cell> &row : rows) {
    std::vector<Cell> cells;
    for (size_t column : kept)
      cells.push_back(row[column]);
    row = std::move(cells);
  }
}

absl::Status cs336::bench::checkColumns(llvm::ArrayRef<std::string> keys, llvm::ArrayRef<ColumnHead> heads,
                                        llvm::StringRef flag) {
  if (keys.size() == 1 && keys.front() == kAll)
    return absl::OkStatus();
  for (const std::string &key : keys) {
    if (llvm::count(keys, key) > 1)
      return absl::InvalidArgumentError(absl::StrCat(flag.str(), " names '", key, "' twice"));
    if (llvm::none_of(heads, [&](const ColumnHead &head) { return head.key == key; }))
      return absl::InvalidArgumentError(absl::StrCat(
          flag.str(), ": unknown column '", key, "'; the columns are ",
          llvm::join(llvm::map_range(heads, [](const ColumnHead &head) { return head.key; }), ", "), "; or all"));
  }
  return absl::OkStatus();
}
