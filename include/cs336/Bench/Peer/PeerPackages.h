//===- PeerPackages.h - What a peer's Python must have ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PEER_PEERPACKAGES_H
#define CS336_BENCH_PEER_PEERPACKAGES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/status.h"

#include <string>

namespace cs336::bench {

/// Imports the packages in a process of this interpreter. Returns NOT_FOUND if the process cannot be started, and
/// CANCELLED if this program is asked to stop. Returns UNAVAILABLE if packages are missing or broken, or if importing
/// them takes longer than `timeoutSeconds`; the error names the interpreter, the packages and a remedy.
absl::Status checkPackages(const std::string &python, llvm::ArrayRef<llvm::StringLiteral> packages,
                           double timeoutSeconds);

} // namespace cs336::bench

#endif // CS336_BENCH_PEER_PEERPACKAGES_H
