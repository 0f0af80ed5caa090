//===- CommandScope.cpp - The command of a thread -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "profile/CommandScope.h"

#include <atomic>

namespace cs336::runtime {

static thread_local const CommandInfo *current = nullptr;
static std::atomic<const CommandInfo *> lent{nullptr};

CommandScope::CommandScope(const CommandInfo &command) : outer_(current) { current = &command; }
CommandScope::~CommandScope() { current = outer_; }
const CommandInfo *CommandScope::Current() { return current ? current : lent.load(); }

LentCommandScope::LentCommandScope() { lent = current; }
LentCommandScope::~LentCommandScope() { lent = nullptr; }

} // namespace cs336::runtime
