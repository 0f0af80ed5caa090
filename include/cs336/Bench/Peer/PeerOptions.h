//===- PeerOptions.h - Which PyTorch to compare with ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PEER_PEEROPTIONS_H
#define CS336_BENCH_PEER_PEEROPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace cs336::bench {

/// Options of the comparison with PyTorch.
struct PeerOptions {
  /// The variants of the peer's script; see TorchPeer and AttentionPeer. Without variants there is no peer.
  std::vector<std::string> variants;
  /// The interpreter that has PyTorch.
  std::string python = "python3";
  /// Longest time for importing its packages.
  double timeoutSeconds = 60;
  /// Longest time for one answer: compiling and all steps of a cell.
  double answerSeconds = 900;
  /// "cpu", "cuda", "cuda:1"; 0 threads is PyTorch's own choice.
  std::string device = "cpu";
  int numThreads = 0;
  int64_t warmup = 5, steps = 10;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PEER_PEEROPTIONS_H
