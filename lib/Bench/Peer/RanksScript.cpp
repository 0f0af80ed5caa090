//===- RanksScript.cpp - Ranks of PyTorch ---------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Peer/RanksScript.h"

using namespace cs336::bench;

// Written by CMake: benchmarks/peers/run_ranks.py as a string literal.
static constexpr llvm::StringLiteral kRanksScript =
#include "RunRanks.inc"
    ;

PeerScript cs336::bench::getRanksScript() { return {"run_ranks.py", kRanksScript}; }
