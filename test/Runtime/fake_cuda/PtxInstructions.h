//===- PtxInstructions.h - Instructions that are interpreted ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_PTXINSTRUCTIONS_H
#define CS336_TEST_RUNTIME_PTXINSTRUCTIONS_H

#include "fake_cuda/PtxThread.h"

#include "absl/strings/string_view.h"

#include <array>
#include <cstdint>

namespace cs336::runtime::testing {

/// Operands of an instruction, in order: numbers of registers, which also hold constants and parameters, or of an
/// instruction. A vector is several operands.
using PtxOperands = std::array<uint32_t, 6>;

/// An instruction that can be interpreted.
struct PtxInstruction {
  absl::string_view name;
  /// One letter per operand; capital letters are registers that are written:
  ///   l  64 bits     w  32 bits     f  32 bits, a float32 number     h  16 bits     x  any 32 bits     p  predicate
  ///   q  {w, w, w, w}     d  {h, h}
  ///   g  [l], global memory     s  [w], shared memory     a  [name of a parameter]     b  label
  absl::string_view operands;
  void (*run)(PtxThread &thread, const PtxOperands &operands);
};

/// Returns the instruction of this name whose operands begin with these characters: '{', '[', or ' ' for others; null
/// if there is none.
const PtxInstruction *FindPtxInstruction(absl::string_view name, absl::string_view shapes);

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_PTXINSTRUCTIONS_H
