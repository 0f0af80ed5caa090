//===- ValueObserver.cpp - Seeing the values that a run computes ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/ValueObserver.h"

#include "llvm/ADT/StringRef.h"

using namespace cs336;
using namespace cs336::runtime;

static llvm::StringRef toRef(absl::string_view text) { return {text.data(), text.size()}; }

bool ValueObserver::Reads(const CommandInfo &command, absl::string_view tensor) const {
  return pattern.match(toRef(command.name)) || pattern.match(toRef(command.location)) || pattern.match(toRef(tensor));
}

absl::Status ValueObserver::OnCommandDone(const CommandInfo &command, absl::Duration elapsed,
                                          absl::Span<const WrittenTensor> written) {
  for (const WrittenTensor &tensor : written) {
    if (!Reads(command, tensor.name)) // Another observer handles these.
      continue;
    if (absl::Status status = onValue(command, tensor); !status.ok())
      return status;
  }
  return absl::OkStatus();
}
