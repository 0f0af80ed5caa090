//===- RanksScript.h - Ranks of PyTorch -------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PEER_RANKSSCRIPT_H
#define CS336_BENCH_PEER_RANKSSCRIPT_H

#include "cs336/Bench/Peer/TorchProcess.h"

namespace cs336::bench {

/// Returns benchmarks/peers/run_ranks.py. Scripts that start several ranks import it.
PeerScript getRanksScript();

} // namespace cs336::bench

#endif // CS336_BENCH_PEER_RANKSSCRIPT_H
