//===- Layout.cpp - What a table shows where ------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

#include "cs336/Bench/Report/ReportWriter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Unicode.h"

#include <numeric>

using namespace cs336::bench;

size_t cs336::bench::getWidth(llvm::StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width < 0 ? text.size() : width;
}

std::vector<std::string> cs336::bench::breakLines(llvm::StringRef text, size_t width) {
  if (getWidth(text) <= width)
    return {text.str()};
  std::vector<std::string> lines;
  std::string line;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ');
  auto finish = [&] {
    lines.push_back(std::move(line));
    line.clear();
  };
  for (llvm::StringRef word : words) {
    if (!line.empty() && getWidth(line) + 1 + getWidth(word) > width)
      finish();
    line += (line.empty() ? "" : " ") + word.str();
    while (getWidth(line) > width) {
      // Bytes of one character stay together.
      size_t end = std::min(line.size(), width);
      while (end > 1 && end < line.size() && (line[end] & 0xC0) == 0x80)
        --end;
      std::string rest = line.substr(end);
      line.resize(end);
      finish();
      line = std::move(rest);
    }
  }
  if (!line.empty() || lines.empty())
    finish();
  return lines;
}

void cs336::bench::writeLines(llvm::StringRef text, llvm::raw_ostream &stream) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines)
    for (const std::string &part : breakLines(line, kPageWidth))
      stream << part << "\n";
}

static size_t getColumnWidth(const Table &table, size_t column) {
  size_t width = getWidth(table.getHeads()[column].title);
  for (const std::vector<Cell> &row : table.getRows())
    width = std::max(width, getWidth(row[column].text));
  return width;
}

static bool isShared(const Table &table, size_t column) {
  llvm::ArrayRef<std::vector<Cell>> rows = table.getRows();
  return !rows.empty() &&
         llvm::all_of(rows, [&](const std::vector<Cell> &row) { return row[column].text == rows[0][column].text; });
}

namespace {
/// Lists columns side by side.
class BlockBuilder {
public:
  BlockBuilder(const Table &table, LineWidths line) : table(table), line(line) {}

  void add(size_t column) {
    block.columns.push_back(column);
    block.widths.push_back(getColumnWidth(table, column));
  }
  /// Adds a column whose text may take at most a part of the line.
  void addNarrow(size_t column) {
    add(column);
    block.widths.back() = std::min(block.widths.back(), 2 * kLeastText);
  }
  bool hasSpaceFor(size_t column) const {
    size_t wanted = getColumnWidth(table, column);
    if (isText(column))
      wanted = std::min(wanted, kLeastText);
    return !line.limit || getLineWidth() + line.separator + wanted <= *line.limit;
  }
  /// Narrows columns whose text can be broken if the line is too wide.
  Layout::Block finish() {
    for (auto [column, width] : llvm::zip_equal(block.columns, block.widths)) {
      size_t all = getLineWidth();
      if (isText(column) && line.limit && all > *line.limit)
        width = std::max(kLeastText, all - *line.limit < width ? width - (all - *line.limit) : 0);
    }
    return std::move(block);
  }

private:
  static constexpr size_t kLeastText = 24;

  bool isText(size_t column) const { return table.getHeads()[column].show == Show::Text; }
  size_t getLineWidth() const {
    return std::accumulate(block.widths.begin(), block.widths.end(), line.frame) +
           line.separator * (block.widths.size() - 1);
  }

  const Table &table;
  LineWidths line;
  Layout::Block block;
};
} // namespace

/// Returns whether the format shows a column that is not a setting, unless columns are selected.
static bool isResult(Show show, LineWidths line) {
  return show == Show::Result || show == Show::Text || (show == Show::Wide && !line.limit);
}

/// Arranges the results in blocks, each of which begins with the labels. Each block has at least one result, even if
/// the line is too narrow for it.
static std::vector<Layout::Block> makeBlocks(const Table &table, LineWidths line, llvm::ArrayRef<size_t> labels,
                                             llvm::ArrayRef<size_t> results,
                                             void (BlockBuilder::*addLabel)(size_t) = &BlockBuilder::add) {
  std::vector<Layout::Block> blocks;
  do {
    BlockBuilder builder(table, line);
    for (size_t column : labels)
      (builder.*addLabel)(column);
    bool isFirst = true;
    for (; !results.empty() && (isFirst || builder.hasSpaceFor(results.front())); results = results.drop_front()) {
      builder.add(results.front());
      isFirst = false;
    }
    blocks.push_back(builder.finish());
  } while (!results.empty());
  return blocks;
}

/// Repeats the first Text column in every block if no setting identifies the rows of a table with several blocks. A
/// table of texts alone has no name that its other columns need.
static std::vector<Layout::Block> makeNamedBlocks(const Table &table, LineWidths line, llvm::ArrayRef<size_t> settings,
                                                  std::vector<size_t> results) {
  std::vector<Layout::Block> blocks = makeBlocks(table, line, settings, results);
  auto isText = [&](size_t column) { return table.getHeads()[column].show == Show::Text; };
  auto name = llvm::find_if(results, isText);
  if (blocks.size() == 1 || !settings.empty() || name == results.end() || llvm::all_of(results, isText))
    return blocks;
  size_t label = *name;
  results.erase(name);
  return makeBlocks(table, line, label, results, &BlockBuilder::addNarrow);
}

Layout cs336::bench::layOut(const Table &table, LineWidths line) {
  std::vector<size_t> settings, results, shared;
  for (auto [column, head] : llvm::enumerate(table.getHeads())) {
    if (!table.hasText(column) && !(table.getRows().empty() && head.show < Show::OnRequest))
      continue;
    if (table.isSelected())
      results.push_back(column);
    else if (head.show == Show::Setting)
      (isShared(table, column) ? shared : settings).push_back(column);
    else if (isResult(head.show, line))
      results.push_back(column);
  }
  if (settings.empty() && !shared.empty()) {
    settings.push_back(shared.front());
    shared.erase(shared.begin());
  }

  Layout layout;
  std::vector<std::string> texts;
  for (size_t column : shared)
    texts.push_back(table.getHeads()[column].title + ": " + table.getRows().front()[column].text);
  layout.shared = llvm::join(texts, ", ");
  // Selected columns form one block of any width.
  if (table.isSelected())
    line.limit = std::nullopt;
  layout.blocks = makeNamedBlocks(table, line, settings, std::move(results));
  return layout;
}
