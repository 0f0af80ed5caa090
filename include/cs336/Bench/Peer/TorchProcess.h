//===- TorchProcess.h - PyTorch beside this program -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PEER_TORCHPROCESS_H
#define CS336_BENCH_PEER_TORCHPROCESS_H

#include "cs336/Bench/Peer/PeerProcess.h"

#include "absl/status/statusor.h"
#include "llvm/Support/JSON.h"

#include <memory>
#include <string>

namespace cs336::bench {

/// A script of benchmarks/peers, which travels inside of this program, as a process that outlives a sweep, and a
/// temporary folder for the files that both sides read.
class TorchProcess {
public:
  /// `name` is the script's file name, `text` what it holds. Fails if the interpreter cannot be started or a temporary
  /// folder cannot be made.
  static absl::StatusOr<std::unique_ptr<TorchProcess>> start(llvm::StringRef name, llvm::StringRef text,
                                                             const std::string &python);
  ~TorchProcess();

  /// In the folder.
  std::string getPath(llvm::StringRef name) const { return folder + "/" + name.str(); }
  /// As PeerProcess::ask. An answer {"error": …} is RESOURCE_EXHAUSTED: scripts answer so where memory does not
  /// suffice.
  absl::StatusOr<llvm::json::Object> ask(llvm::json::Object question);

private:
  explicit TorchProcess(std::string folder) : folder(std::move(folder)) {}

  std::string folder;
  std::unique_ptr<PeerProcess> process;
};

/// INVALID_ARGUMENT for a `--peer` that parsePeer cannot read, with the known variants.
absl::Status describeUnknownPeer(llvm::StringRef text, llvm::ArrayRef<llvm::StringLiteral> known);

/// The variants that `--peer torch` (then `whole`) or `--peer torch:A,B` names; none if it cannot be read or names one
/// that is not among `known`.
std::vector<std::string> parsePeer(llvm::StringRef text, llvm::ArrayRef<llvm::StringLiteral> known,
                                   llvm::StringRef whole);

} // namespace cs336::bench

#endif // CS336_BENCH_PEER_TORCHPROCESS_H
