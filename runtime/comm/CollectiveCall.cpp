//===- CollectiveCall.cpp - What ranks must call alike --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/CollectiveCall.h"

#include "comm/Reduce.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <string>
#include <vector>

namespace cs336::runtime {

absl::Status CheckCalls(absl::Span<const CollectiveCall> calls) {
  const CollectiveCall &call = calls[0];
  for (size_t rank = 1; rank != calls.size(); ++rank)
    if (calls[rank] != call)
      return absl::InvalidArgumentError(absl::StrCat("ranks 0 and ", rank,
                                                     " called different collectives, or the same "
                                                     "one on different counts or types"));
  if (call.operation == CollectiveOperation::kAllReduce || call.operation == CollectiveOperation::kReduceScatter)
    return CheckReducible(call.dtype);
  return absl::OkStatus();
}

absl::Status ComparePrograms(absl::Span<const uint64_t> programs) {
  uint64_t usual = *absl::c_max_element(
      programs, [&](uint64_t a, uint64_t b) { return absl::c_count(programs, a) < absl::c_count(programs, b); });
  auto other = absl::c_find_if(programs, [&](uint64_t hash) { return hash != usual; });
  if (other == programs.end())
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("rank ", other - programs.begin(), " runs program ", absl::Hex(*other, absl::kZeroPad16),
                   ", but rank ", absl::c_find(programs, usual) - programs.begin(), " runs program ",
                   absl::Hex(usual, absl::kZeroPad16), ": give all ranks the same executable"));
}

absl::Status NameRanksBehind(const absl::Status &failure, absl::Span<const int64_t> begun) {
  int64_t least = *absl::c_min_element(begun), most = *absl::c_max_element(begun);
  if (!absl::IsDeadlineExceeded(failure) || least == most)
    return failure;
  std::vector<std::string> behind;
  for (size_t rank = 0; rank != begun.size(); ++rank)
    if (begun[rank] == least)
      behind.push_back(absl::StrCat("rank ", rank));
  return absl::DeadlineExceededError(absl::StrCat(failure.message(), "; ", absl::StrJoin(behind, ", "),
                                                  behind.size() == 1 ? " is" : " are", " behind by ", most - least,
                                                  " collectives"));
}

absl::Status NameRank(int rank, const absl::Status &failure) {
  return absl::Status(failure.code(), absl::StrCat("rank ", rank, ": ", failure.message()));
}

} // namespace cs336::runtime
