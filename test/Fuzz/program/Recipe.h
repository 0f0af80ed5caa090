//===- Recipe.h - Programs as bytes that a fuzzer changes -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recipe is a header of 8 bytes and instructions of 8 bytes: an opcode, and seven choices that it reads one after the
// other. Choices select among the possibilities at that point (values of a suitable type, shapes that fit), so every
// string of bytes is a program, and a change of one instruction keeps the meaning of most others. Operands are counted
// from the latest value.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_PROGRAM_RECIPE_H
#define CS336_TEST_FUZZ_PROGRAM_RECIPE_H

#include "absl/types/span.h"

#include <array>
#include <cstdint>
#include <vector>

namespace cs336::fuzz {

struct Recipe {
  static constexpr size_t kMostInstructions = 48;

  using Instruction = std::array<uint8_t, 8>;
  enum HeaderByte { kSeed0, kSeed1, kTypes, kCompute, kGradients, kValues, kPipeline, kMachine };

  Instruction header = {};
  std::vector<Instruction> instructions;

  /// Missing bytes are 0.
  static Recipe fromBytes(absl::Span<const uint8_t> bytes);
  /// Writes as many instructions as fit. Returns the number of bytes.
  size_t write(absl::Span<uint8_t> bytes) const;

  /// Inserts, removes, replaces, moves or copies one or a few instructions, or changes a choice or the header.
  void mutate(uint32_t seed);
  /// Returns the beginning of this recipe followed by the end of `other`.
  void crossOver(const Recipe &other, uint32_t seed);
};

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_PROGRAM_RECIPE_H
