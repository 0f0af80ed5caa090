//===- AvailableMemory.cpp - Memory that is left --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/AvailableMemory.h"

#include "cs336/runtime/Storage.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <vector>

namespace cs336::runtime {

namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

/// The files of a control group, by the version of control groups.
struct GroupFiles {
  const char *mount, *limit, *usage;
  /// The page cache that the group could drop, in memory.stat.
  const char *cache_key;
};
constexpr GroupFiles kVersion1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file"};
constexpr GroupFiles kVersion2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

/// Returns the number in a file that contains only a number, or kUnknown ("max"
/// in a control group).
int64_t ReadNumber(const std::string &path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  int64_t value;
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &value) ? value : kUnknown;
}

/// Returns the number after `key` at the start of a line, or kUnknown.
int64_t ReadField(const std::string &path, absl::string_view key) {
  std::ifstream file(path);
  std::string name;
  int64_t value;
  while (file >> name >> value) {
    if (name == key)
      return value;
    file.ignore(kUnknown, '\n');
  }
  return kUnknown;
}

/// Returns the remainder of a control group's limit. The page cache that it
/// could drop counts as free.
int64_t RemainderOf(const std::string &group, const GroupFiles &files) {
  int64_t limit = ReadNumber(group + "/" + files.limit), usage = ReadNumber(group + "/" + files.usage);
  if (limit == kUnknown || usage == kUnknown)
    return kUnknown;
  int64_t cache = ReadField(group + "/memory.stat", files.cache_key);
  return std::max<int64_t>(0, limit - usage + (cache == kUnknown ? 0 : cache));
}

/// Returns the least remainder of a control group and of the groups around it. A
/// container may see only its own group, as the root.
int64_t LeastRemainder(const std::string &root, std::string group, const GroupFiles &files) {
  int64_t least = kUnknown;
  while (true) {
    least = std::min(least, RemainderOf(root + files.mount + group, files));
    if (group.empty())
      return least;
    size_t last = group.rfind('/');
    group.resize(last == std::string::npos ? 0 : last);
  }
}

} // namespace

int64_t AvailableMemoryOf(const std::string &root) {
  int64_t available = ReadField(root + "/proc/meminfo", "MemAvailable:");
  if (available != kUnknown)
    available *= 1024;
  // Lines such as "4:memory:/group" (version 1) and "0::/group" (version 2).
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3)
      continue;
    std::string group = parts[2] == "/" ? "" : parts[2];
    if (parts[1].empty())
      available = std::min(available, LeastRemainder(root, group, kVersion2));
    else if (absl::c_linear_search(absl::StrSplit(parts[1], ','), "memory"))
      available = std::min(available, LeastRemainder(root, group, kVersion1));
  }
  return available;
}

int64_t AvailableHostMemory() { return AvailableMemoryOf(""); }

} // namespace cs336::runtime
