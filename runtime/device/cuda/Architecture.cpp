//===- Architecture.cpp - The machine code that a GPU runs ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/Architecture.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>

namespace cs336::runtime {

namespace {

struct Architecture {
  ComputeCapability capability;
  char scope = 0; // 'a': this version only. 'f': this and later versions of its family.
};

absl::optional<Architecture> Parse(absl::string_view target) {
  Architecture architecture;
  if (!absl::ConsumePrefix(&target, "sm_") || target.empty())
    return {};
  if (target.back() == 'a' || target.back() == 'f') {
    architecture.scope = target.back();
    target.remove_suffix(1);
  }
  // The last digit is the minor version: sm_90, sm_103.
  int number = 0;
  if (target.size() < 2 || target.size() > 4 || !std::all_of(target.begin(), target.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(target, &number))
    return {};
  architecture.capability = {number / 10, number % 10};
  return architecture;
}

} // namespace

bool RunsOn(absl::string_view target, ComputeCapability device) {
  absl::optional<Architecture> architecture = Parse(target);
  if (!architecture || architecture->capability.major != device.major)
    return false;
  int minor = architecture->capability.minor;
  return architecture->scope == 'a' ? minor == device.minor : minor <= device.minor;
}

absl::optional<size_t> ChooseTarget(absl::Span<const std::string> targets, ComputeCapability device) {
  auto rank = [](const Architecture &architecture) {
    constexpr absl::string_view kScopes("\0fa", 3);
    return std::make_pair(architecture.capability.minor, kScopes.find(architecture.scope));
  };
  absl::optional<size_t> best;
  for (size_t i = 0; i != targets.size(); ++i)
    if (RunsOn(targets[i], device) && (!best || rank(*Parse(targets[*best])) < rank(*Parse(targets[i]))))
      best = i;
  return best;
}

std::string TargetFor(ComputeCapability device) {
  // The matrix instructions of 9.0 and 10.0 are not available in code that also
  // runs elsewhere.
  bool is_specific = device.major == 9 || device.major == 10;
  return absl::StrCat("sm_", device.major, device.minor, is_specific ? "a" : "");
}

} // namespace cs336::runtime
