//===- CpuFeatures.cpp - Instruction sets of this machine -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cpu/CpuFeatures.h"

#include "file/FileDescriptor.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <utility>

namespace cs336::runtime {

namespace {

/// Names of the same extension in Linux and in LLVM that differ by more than
/// spelling.
constexpr std::pair<absl::string_view, absl::string_view> kLlvmToLinux[] = {
    {"sse3", "pni"}, {"lzcnt", "abm"},        {"sahf", "lahflm"},  {"crc32", "sse42"}, {"prfchw", "3dnowprefetch"},
    {"x87", "fpu"},  {"pclmul", "pclmulqdq"}, {"rdrnd", "rdrand"}, {"sha", "shani"},   {"64bit", "lm"},
};

/// Returns the name in lower case, without the separators in which spellings
/// differ.
std::string Normalize(absl::string_view name) {
  std::string normal;
  for (char c : name)
    if (absl::ascii_isalnum(c))
      normal += absl::ascii_tolower(c);
  return normal;
}

} // namespace

absl::string_view HostTarget() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
#error "the CPU device does not support this architecture"
#endif
}

CpuFeatures CpuFeatures::Parse(absl::string_view cpuinfo) {
  CpuFeatures features;
  for (absl::string_view line : absl::StrSplit(cpuinfo, '\n')) {
    std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    absl::string_view key = absl::StripAsciiWhitespace(field.first);
    if (key != "flags" && key != "Features")
      continue;
    for (absl::string_view name : absl::StrSplit(field.second, ' ', absl::SkipWhitespace()))
      features.names_.insert(Normalize(name));
    break; // All processors list the same features.
  }
  return features;
}

absl::StatusOr<CpuFeatures> CpuFeatures::Host() {
  std::ifstream file("/proc/cpuinfo");
  if (!file)
    return FileError(errno, "cannot read this processor's instruction sets from /proc/cpuinfo");
  return Parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

bool CpuFeatures::Has(absl::string_view feature) const {
  std::string name = Normalize(feature);
  for (auto [llvm, linux_name] : kLlvmToLinux)
    if (name == llvm && names_.contains(std::string(linux_name)))
      return true;
  return names_.contains(name);
}

} // namespace cs336::runtime
