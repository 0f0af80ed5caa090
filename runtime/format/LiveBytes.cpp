//===- LiveBytes.cpp - Memory that commands need --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/LiveBytes.h"

#include "format/CommandVisitor.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

namespace cs336::runtime {

namespace {

/// A set of bytes, as disjoint ranges.
class ByteSet {
public:
  void Insert(int64_t begin, int64_t end) {
    Erase(begin, end);
    ranges_.emplace(begin, end);
    count_ += end - begin;
  }

  void Erase(int64_t begin, int64_t end) {
    auto range = ranges_.lower_bound(begin);
    if (range != ranges_.begin() && std::prev(range)->second > begin)
      --range;
    while (range != ranges_.end() && range->first < end) {
      auto [first, last] = *range;
      range = ranges_.erase(range);
      count_ -= std::min(last, end) - std::max(first, begin);
      if (first < begin)
        ranges_.emplace(first, begin);
      if (last > end)
        ranges_.emplace(end, last);
    }
  }

  int64_t count() const { return count_; }

private:
  std::map<int64_t, int64_t> ranges_; // From begin to end.
  int64_t count_ = 0;
};

} // namespace

std::vector<int64_t> LiveBytes(const format::EntryT &entry) {
  ByteSet live;
  auto visit = [&](uint32_t index, auto change) {
    const format::BufferT &buffer = *entry.buffers[index];
    if (buffer.source == format::BufferSource::arena && buffer.byte_size > 0)
      change(buffer.byte_offset, buffer.byte_offset + buffer.byte_size);
  };
  auto insert = [&](int64_t begin, int64_t end) { live.Insert(begin, end); };
  auto erase = [&](int64_t begin, int64_t end) { live.Erase(begin, end); };
  for (const auto &output : entry.outputs)
    visit(output->buffer, insert);

  // From the last command to the first: bytes are live from the write to the last read.
  std::vector<int64_t> counts(entry.commands.size());
  for (size_t i = counts.size(); i-- != 0;) {
    const format::CommandT &command = *entry.commands[i];
    std::optional<uint32_t> workspace = Workspace(command);
    auto written = WrittenBuffers(command);
    for (uint32_t index : written)
      visit(index, insert);
    for (uint32_t index : ReadBuffers(command))
      visit(index, insert);
    if (workspace)
      visit(*workspace, insert);
    counts[i] = live.count();
    for (uint32_t index : written)
      visit(index, erase);
    if (workspace)
      visit(*workspace, erase);
    for (uint32_t index : ReadBuffers(command))
      visit(index, insert);
  }
  return counts;
}

} // namespace cs336::runtime
