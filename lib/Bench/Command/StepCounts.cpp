//===- StepCounts.cpp - Numbers of steps ----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Command/StepCounts.h"

#include "absl/strings/str_cat.h"

using namespace cs336;

absl::Status bench::checkStepCounts(int64_t steps, llvm::ArrayRef<int64_t> warmups) {
  constexpr int64_t kMost = 1'000'000'000'000;
  auto refuse = [](llvm::StringRef flag, int64_t value, llvm::StringRef rule) {
    return absl::InvalidArgumentError(absl::StrCat(flag.str(), " is ", value, ", must ", rule.str()));
  };
  if (steps < 1)
    return refuse("--steps", steps, "be positive");
  if (steps > kMost)
    return refuse("--steps", steps, "be at most 10^12");
  for (int64_t warmup : warmups) {
    if (warmup < 0)
      return refuse("--warmup", warmup, "not be negative");
    if (warmup > kMost)
      return refuse("--warmup", warmup, "be at most 10^12");
  }
  return absl::OkStatus();
}
