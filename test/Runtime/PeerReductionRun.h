//===- PeerReductionRun.h - A run of the kernel of reductions ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_PEERREDUCTIONRUN_H
#define CS336_TEST_RUNTIME_PEERREDUCTIONRUN_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/DType.h"
#include "fake_cuda/GlobalMemory.h"

#include "absl/status/status.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace cs336::runtime::testing {

/// A reduction by the kernel of ReduceText().
struct PeerReductionCase {
  DType dtype = DType::kF32;
  Reduction reduction = Reduction::kMean;
  int ranks = 2;
  int targets = 1;
  std::vector<int64_t> bytes; // By operand.
  uint32_t blocks = 1;
};

/// Operands with random values in blocks of memory of exactly their size, and the kernel's parameters.
class PeerReductionRun {
public:
  explicit PeerReductionRun(const PeerReductionCase &what);

  /// Interprets a kernel's text. Returns an error unless all targets hold the result of a computation in float32, in
  /// order of ranks, and the rest of the memory is as before.
  absl::Status Run(const std::string &text);
  /// Interprets the text of the runtime.
  absl::Status Run();

  /// The word that ends the kernel at its start.
  uint64_t abandoned = 0;

private:
  using Block = std::vector<char>;
  struct Operand {
    std::vector<Block *> sources, targets;
  };

  /// Adds a block of random values of the type.
  Block &AddValues(int64_t bytes);
  uint64_t AddressOf(const Block &block) const;
  absl::Status Check(const Operand &operand) const;
  float Read(const Block &block, int64_t index) const;
  /// Returns the bits of a number that is rounded to the nearest value of the type, to an even one if there are two.
  uint32_t Round(float value) const;

  const PeerReductionCase what_;
  std::deque<Block> blocks_;
  std::vector<Operand> operands_;
  std::vector<uint64_t> records_;
  GlobalMemory memory_;
  uint32_t random_ = 1;
};

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_PEERREDUCTIONRUN_H
