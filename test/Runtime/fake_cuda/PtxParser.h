//===- PtxParser.h - Reads the text of a kernel -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_PTXPARSER_H
#define CS336_TEST_RUNTIME_PTXPARSER_H

#include "fake_cuda/PtxInstructions.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cs336::runtime::testing {

/// A kernel whose names are numbers.
struct PtxProgram {
  struct Step {
    static constexpr int64_t kAlways = -1;
    int64_t guard = kAlways; // A predicate.
    bool is_negated = false; // The step is done if the guard is false.
    bool is_uniform = false; // All threads of a warp do the step, or none.
    void (*run)(PtxThread &thread, const PtxOperands &operands) = nullptr;
    PtxOperands operands = {};
  };

  std::string name;
  std::vector<Step> steps;
  /// First values of the registers: constants, and bytes that are unlikely to be right for registers of the text. A
  /// thread sets the special registers.
  std::vector<uint64_t> registers;
  std::vector<uint32_t> parameters;                        // Registers of the parameters, in order.
  uint32_t thread = 0, threads = 0, block = 0, blocks = 0; // Special registers: %tid.x, %ntid.x, %ctaid.x, %nctaid.x.
};

/// Reads a module with one kernel, and at most one array of dynamic shared memory. Returns INVALID_ARGUMENT for other
/// text, such as an instruction that is not in PtxInstructions.cpp or a register of another type than its operand.
absl::StatusOr<PtxProgram> ParsePtx(absl::string_view text);

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_PTXPARSER_H
