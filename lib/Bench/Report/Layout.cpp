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
  size_t getLineWidth() const {
    return std::accumulate(block.widths.begin(), block.widths.end(), line.frame) +
           line.separator * (block.widths.size() - 1);
  }
  bool hasSpaceFor(size_t column) const {
    size_t wanted = getColumnWidth(table, column);
    if (isText(column))
      wanted = std::min(wanted, kLeastText);
    return getLineWidth() + line.separator + wanted <= kPageWidth;
  }
  Layout::Block take() { return std::move(block); }
  /// Narrows columns whose text can be broken if the line is too wide.
  Layout::Block finish() {
    for (auto [column, width] : llvm::zip_equal(block.columns, block.widths)) {
      size_t all = getLineWidth();
      if (isText(column) && all > kPageWidth)
        width = std::max(kLeastText, all - kPageWidth < width ? width - (all - kPageWidth) : 0);
    }
    return std::move(block);
  }

private:
  static constexpr size_t kLeastText = 24;

  bool isText(size_t column) const { return table.getHeads()[column].show == Show::Text; }

  const Table &table;
  LineWidths line;
  Layout::Block block;
};
} // namespace

Layout cs336::bench::layOut(const Table &table, LineWidths line) {
  std::vector<size_t> settings, results, shared;
  for (auto [column, head] : llvm::enumerate(table.getHeads())) {
    if (!table.hasText(column) && !(table.getRows().empty() && head.show < Show::OnRequest))
      continue;
    if (table.isSelected())
      results.push_back(column);
    else if (head.show == Show::Setting)
      (isShared(table, column) ? shared : settings).push_back(column);
    else if (head.show == Show::Result || head.show == Show::Text)
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
  size_t next = 0;
  do {
    BlockBuilder builder(table, line);
    for (size_t column : settings)
      builder.add(column);
    // Each block has at least one result, even if the line is too narrow for it.
    bool isFirst = true;
    for (; next < results.size() && (isFirst || table.isSelected() || builder.hasSpaceFor(results[next])); ++next) {
      builder.add(results[next]);
      isFirst = false;
    }
    Layout::Block block = table.isSelected() ? builder.take() : builder.finish();
    layout.blocks.push_back(std::move(block));
  } while (next < results.size());
  return layout;
}
