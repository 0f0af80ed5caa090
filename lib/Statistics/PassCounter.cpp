//===- PassCounter.cpp - Numbers that a pass reports of itself ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Statistics/PassCounter.h"

using namespace cs336;

CountingPass::~CountingPass() = default;

PassCounter::PassCounter(CountingPass *owner, llvm::StringLiteral name, llvm::StringLiteral description)
    : count(std::make_shared<PassCount>(name, description)) {
  owner->counts.push_back(count);
}
