//===- ValueDump.cpp - Printing the values that a run computes ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValueDump.h"

#include "TensorSummary.h"

#include "llvm/ADT/STLExtras.h"

using namespace cs336;
using namespace cs336::runtime;

static llvm::StringRef toRef(absl::string_view text) { return {text.data(), text.size()}; }

absl::Status ValueDump::onValue(const CommandInfo &command, const WrittenTensor &tensor) {
  absl::StatusOr<std::string> summary = summarize(tensor.value);
  if (!summary.ok())
    return summary.status();
  stream << "[" << command.index << "] " << toRef(command.phase) << " " << toRef(command.location) << ": "
         << toRef(command.kind) << " " << toRef(command.name) << " -> " << toRef(tensor.name) << " " << *summary
         << "\n";
  ++numPrinted;
  return absl::OkStatus();
}

bool ObserverList::Reads(const CommandInfo &command, absl::string_view tensor) const {
  return llvm::any_of(observers, [&](const RunObserver *observer) { return observer->Reads(command, tensor); });
}

absl::Status ObserverList::OnCommandDone(const CommandInfo &command, absl::Duration elapsed,
                                         absl::Span<const WrittenTensor> written) {
  for (RunObserver *observer : observers)
    if (absl::Status status = observer->OnCommandDone(command, elapsed, written); !status.ok())
      return status;
  return absl::OkStatus();
}
