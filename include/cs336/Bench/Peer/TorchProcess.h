//===- TorchProcess.h - PyTorch beside this program -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PEER_TORCHPROCESS_H
#define CS336_BENCH_PEER_TORCHPROCESS_H

#include "cs336/Bench/Peer/PeerOptions.h"
#include "cs336/Bench/Peer/PeerProcess.h"
#include "cs336/Support/JobFolder.h"

#include "absl/status/statusor.h"
#include "llvm/Support/JSON.h"

#include <memory>
#include <string>

namespace cs336::bench {

/// A file of benchmarks/peers, which is embedded into this program.
struct PeerScript {
  llvm::StringLiteral name, text;
};

/// A process that runs a script during a whole sweep, and a temporary folder for the files that both sides read.
class TorchProcess {
public:
  /// Starts the first of the scripts, which may import the others and answer_jobs.py. They import `packages`. An error
  /// if the interpreter cannot be started or a temporary folder cannot be made. If the interpreter lacks a package, the
  /// process has failed before its first question.
  static absl::StatusOr<std::unique_ptr<TorchProcess>>
  start(llvm::ArrayRef<PeerScript> scripts, llvm::ArrayRef<llvm::StringLiteral> packages, const PeerOptions &options);

  /// Returns the path of a file in the temporary folder.
  std::string getPath(llvm::StringRef name) const { return folder->getPath() + "/" + name.str(); }
  /// Returns OK, or UNAVAILABLE with the reason why the process does not answer any more.
  const absl::Status &getFailure() const { return failure; }
  /// Sends a question, and returns the answer. Returns RESOURCE_EXHAUSTED for an answer {"error": …}, which scripts
  /// send if memory does not suffice, and CANCELLED if this program is asked to stop. After any other failure, such as
  /// no answer within PeerOptions::answerSeconds, the process answers no further questions.
  absl::StatusOr<llvm::json::Object> ask(llvm::json::Object question);
  /// Makes an error in an answer the failure, and returns it.
  absl::Status fail(const absl::Status &reason);

private:
  TorchProcess(std::unique_ptr<JobFolder> folder, double answerSeconds)
      : folder(std::move(folder)), answerSeconds(answerSeconds) {}

  std::unique_ptr<JobFolder> folder; // Outlives the process.
  double answerSeconds;
  /// Null if packages are missing.
  std::unique_ptr<PeerProcess> process;
  absl::Status failure;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PEER_TORCHPROCESS_H
