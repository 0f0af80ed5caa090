//===- ProfileTable.h - Where the time of a run goes ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_RUN_PROFILETABLE_H
#define CS336_TOOLS_RUN_PROFILETABLE_H

#include "cs336/runtime/RunObserver.h"
#include "llvm/Support/raw_ostream.h"

namespace cs336 {

/// Prints a row for every phase and command name (equal kernels of all layers share one), the most time first: share of
/// the whole, total and mean milliseconds, and how often it ran.
void printProfile(const runtime::CommandProfile &profile, llvm::raw_ostream &stream);

} // namespace cs336

#endif // CS336_TOOLS_RUN_PROFILETABLE_H
