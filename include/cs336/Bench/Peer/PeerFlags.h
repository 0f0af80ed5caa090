//===- PeerFlags.h - Flags of the comparison with PyTorch -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PEER_PEERFLAGS_H
#define CS336_BENCH_PEER_PEERFLAGS_H

#include "cs336/Bench/Peer/PeerOptions.h"
#include "cs336/Driver/Flags/FlagParsers.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// `--peer` of a command, and the flags that require it.
class PeerFlags {
public:
  /// `variants` are those of the peer's script. `--peer torch` selects the first one.
  PeerFlags(llvm::ArrayRef<llvm::StringLiteral> variants, llvm::StringRef description,
            llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand);

  /// INVALID_ARGUMENT for an unknown peer or variant, timeouts that are not positive, and flags without `--peer`.
  absl::Status check() const;
  bool isGiven() const { return !peer.empty(); }
  /// The variants that `--peer` names; empty without it.
  std::vector<std::string> getVariants() const;
  /// Returns the options that the flags set. Options without a flag have their defaults.
  PeerOptions getOptions() const;

private:
  llvm::ArrayRef<llvm::StringLiteral> variants;
  llvm::cl::opt<std::string> peer; // Empty: none, where a study names one.
  TextFlag python;
  RealFlag timeout, answerTimeout;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PEER_PEERFLAGS_H
