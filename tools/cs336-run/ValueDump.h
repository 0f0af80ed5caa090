//===- ValueDump.h - Printing the values that a run computes ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_RUN_VALUEDUMP_H
#define CS336_TOOLS_RUN_VALUEDUMP_H

#include "cs336/Driver/Run/ValueObserver.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

namespace cs336 {

/// Prints the values that it sees, a line for each.
class ValueDump : public ValueObserver {
public:
  ValueDump(llvm::GlobPattern pattern, llvm::raw_ostream &stream) : ValueObserver(std::move(pattern)), stream(stream) {}

  int64_t getNumPrinted() const { return numPrinted; }

private:
  absl::Status onValue(const runtime::CommandInfo &command, const runtime::WrittenTensor &tensor) override;

  llvm::raw_ostream &stream;
  int64_t numPrinted = 0;
};

/// Tells several observers of every command, in order; the first error ends the run.
class ObserverList : public runtime::RunObserver {
public:
  void add(runtime::RunObserver &observer) { observers.push_back(&observer); }
  bool empty() const { return observers.empty(); }

  bool Reads(const runtime::CommandInfo &command, absl::string_view tensor) const override;
  absl::Status OnCommandDone(const runtime::CommandInfo &command, absl::Duration elapsed,
                             absl::Span<const runtime::WrittenTensor> written) override;

private:
  std::vector<runtime::RunObserver *> observers;
};

} // namespace cs336

#endif // CS336_TOOLS_RUN_VALUEDUMP_H
