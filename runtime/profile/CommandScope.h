//===- CommandScope.h - The command of a thread -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_PROFILE_COMMANDSCOPE_H
#define CS336_RUNTIME_PROFILE_COMMANDSCOPE_H

#include "cs336/runtime/CommandInfo.h"

namespace cs336::runtime {

/// The command whose work this thread gives to a device while the scope lives. It is a property of the thread, because
/// the callbacks of GPU libraries pass no pointer of the caller.
class CommandScope {
public:
  /// `command` must outlive the scope.
  explicit CommandScope(const CommandInfo &command);
  ~CommandScope();
  CommandScope(const CommandScope &) = delete;
  CommandScope &operator=(const CommandScope &) = delete;

  /// Returns the command of the innermost scope on this thread, or the one that
  /// is lent to threads without a scope, or null.
  static const CommandInfo *Current();

private:
  const CommandInfo *outer_;
};

/// Lends this thread's command, while the scope lives, to the threads with which
/// a library does the command's work. Several scopes at a time are those of equal
/// programs, such as ranks.
class LentCommandScope {
public:
  LentCommandScope();
  ~LentCommandScope();
  LentCommandScope(const LentCommandScope &) = delete;
  LentCommandScope &operator=(const LentCommandScope &) = delete;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_PROFILE_COMMANDSCOPE_H
