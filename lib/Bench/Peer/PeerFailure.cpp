//===- PeerFailure.cpp - Reports without the peer's cells -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Peer/PeerFailure.h"

#include "cs336/Bench/Command/CellNames.h"

#include "absl/strings/str_cat.h"

using namespace cs336::bench;

static constexpr char kPayload[] = "cs336.bench/peer-missing";

absl::Status cs336::bench::makePeerMissing(const absl::Status &reason) {
  absl::Status status = absl::FailedPreconditionError(absl::StrCat("cells of --peer are missing: ", reason.message()));
  status.SetPayload(kPayload, absl::Cord());
  return status;
}

bool cs336::bench::isPeerMissing(const absl::Status &status) { return status.GetPayload(kPayload).has_value(); }

Cell cs336::bench::makePeerFailure(const absl::Status &status) {
  if (absl::IsUnimplemented(status))
    return Cell::note("unsupported", absl::StrCat("unsupported: ", status.message()));
  if (!absl::IsUnavailable(status))
    return Cell::note(getFailureText(status));
  return Cell::note("missing", absl::StrCat("missing: ", status.message()));
}
