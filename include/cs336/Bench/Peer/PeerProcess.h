//===- PeerProcess.h - A process that answers lines with lines --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PEER_PEERPROCESS_H
#define CS336_BENCH_PEER_PEERPROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"

#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

namespace cs336::bench {

/// A child process that reads one JSON value per line from its standard input, and answers each with one line of JSON
/// on its standard output. It shares the caller's standard error stream. It ends at the end of its input, and does not
/// receive the signals of the caller's terminal.
class PeerProcess {
public:
  /// NOT_FOUND if the program cannot be started. `command` is the program, looked up in PATH, and its arguments.
  static absl::StatusOr<std::unique_ptr<PeerProcess>> start(llvm::ArrayRef<std::string> command);
  PeerProcess(const PeerProcess &) = delete;
  ~PeerProcess();

  /// Returns the answer; UNAVAILABLE if the process ended without one, DATA_LOSS if it is not a JSON object. CANCELLED
  /// if this program is asked to stop, DEADLINE_EXCEEDED after the time limit; both end the process and the processes
  /// that it has started.
  absl::StatusOr<llvm::json::Object> ask(llvm::json::Object question,
                                         std::optional<double> timeoutSeconds = std::nullopt);

private:
  PeerProcess(std::string program, pid_t process, int input, int output)
      : program(std::move(program)), process(process), input(input), output(output) {}

  absl::StatusOr<std::string> readLine(std::optional<double> timeoutSeconds);
  absl::Status writeLine(llvm::StringRef line) const;
  absl::Status endedWithoutAnswer() const;

  std::string program;
  pid_t process;
  int input, output;
  /// The text that was read after the last line.
  std::string pending;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PEER_PEERPROCESS_H
