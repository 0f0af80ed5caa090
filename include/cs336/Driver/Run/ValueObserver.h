//===- ValueObserver.h - Observing the values that a run computes -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUN_VALUEOBSERVER_H
#define CS336_DRIVER_RUN_VALUEOBSERVER_H

#include "cs336/runtime/RunObserver.h"
#include "llvm/Support/GlobPattern.h"

namespace cs336 {

/// Receives every tensor that a command writes and whose name, or whose command's name or location, matches a glob.
class ValueObserver : public runtime::RunObserver {
public:
  explicit ValueObserver(llvm::GlobPattern pattern) : pattern(std::move(pattern)) {}

  bool Reads(const runtime::CommandInfo &command, absl::string_view tensor) const override;
  absl::Status OnCommandDone(const runtime::CommandInfo &command, absl::Duration elapsed,
                             absl::Span<const runtime::WrittenTensor> written) override;

protected:
  /// An error ends the run, which returns it.
  virtual absl::Status onValue(const runtime::CommandInfo &command, const runtime::WrittenTensor &tensor) = 0;

private:
  llvm::GlobPattern pattern;
};

} // namespace cs336

#endif // CS336_DRIVER_RUN_VALUEOBSERVER_H
