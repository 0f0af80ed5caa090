//===- RunObserver.h - Observing a run per command --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_RUNOBSERVER_H
#define CS336_RUNTIME_RUNOBSERVER_H

#include "cs336/runtime/CommandInfo.h"
#include "cs336/runtime/Tensor.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace cs336::runtime {

/// A tensor that a command has just written.
struct WrittenTensor {
  absl::string_view name;
  absl::string_view location;
  TensorView value; // In host memory, valid until the next command starts.
};

/// Called after every command of a run has finished, in order. With an observer
/// the commands of a run do not overlap.
class RunObserver {
public:
  virtual ~RunObserver();

  /// Returns true if OnCommandDone() needs the value of a tensor, which may have
  /// to be copied from a device.
  virtual bool Reads(const CommandInfo &command, absl::string_view tensor) const { return true; }

  /// Handles a finished command. `written` holds the tensors that Reads()
  /// requested. An error ends the run, which returns it.
  virtual absl::Status OnCommandDone(const CommandInfo &command, absl::Duration elapsed,
                                     absl::Span<const WrittenTensor> written) = 0;
};

/// Stops the run at the first command that writes a NaN (or an infinity, if
/// `reject_infinities`), with an error that names it. Infinities may be correct,
/// for example in a masked softmax; NaN never is.
class NanCheck : public RunObserver {
public:
  explicit NanCheck(bool reject_infinities = false) : reject_infinities_(reject_infinities) {}

  absl::Status OnCommandDone(const CommandInfo &command, absl::Duration elapsed,
                             absl::Span<const WrittenTensor> written) override;

private:
  bool reject_infinities_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_RUNOBSERVER_H
