//===- ReservedMemoryTest.cpp - Memory that a session reserves ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/format/ReservedMemory.h"

#include "ProgramBuilder.h"
#include "SessionParts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace cs336::runtime::reserved_memory_test {
namespace {

using format::ComputeReservedMemory;
using format::ReservedMemory;
using ::testing::ElementsAre;
using testing::EntryBuilder;
using testing::MakeType;
using testing::ProgramBuilder;

/// Builds two entries that read variables of 12 and 1024 bytes, and have inputs of 8 and 260 bytes. "prepare" reads a
/// third variable of 40 bytes.
ProgramBuilder TwoEntries() {
  ProgramBuilder program;
  program.Variable("w", MakeType(DType::kF32, {3}));
  program.Variable("m", MakeType(DType::kF32, {256}), format::VariableKind::state);
  program.Variable("source", MakeType(DType::kF32, {10}));
  EntryBuilder prepare = program.Entry("prepare", format::Mode::prepare);
  prepare.Copy(prepare.Variable("source"), prepare.Arena("temporary", MakeType(DType::kF32, {10})));
  EntryBuilder a = program.Entry("a");
  a.Input("x", MakeType(DType::kF32, {2}));
  a.Copy(a.Variable("w"), a.Output("y", MakeType(DType::kF32, {3})));
  EntryBuilder b = program.Entry("b");
  b.Input("x", MakeType(DType::kF32, {2}));
  b.Input("z", MakeType(DType::kF32, {65}));
  b.Copy(b.Variable("m"), b.Output("y", MakeType(DType::kF32, {256})));
  return program;
}

TEST(ReservedMemoryTest, CountsTheGapsBehindValues) {
  ReservedMemory memory = ComputeReservedMemory((*TwoEntries().Build())->description());
  EXPECT_EQ(memory.parameters, 12 + 40);
  EXPECT_EQ(memory.state, 1024);
  EXPECT_EQ(memory.derived, 0);
  EXPECT_EQ(memory.inputs, 8 + 8 + 260);
  EXPECT_EQ(memory.alignment, (256 - 12) + (256 - 40) + 2 * (256 - 8) + (512 - 260));
  EXPECT_EQ(memory.arena, 1024);
  EXPECT_EQ(memory.input_slots + memory.host, 0);
  EXPECT_EQ(memory.total(), 256 + 1024 + 256 + 256 + 256 + 512 + 1024);
}

TEST(ReservedMemoryTest, IsWhatASessionAllocates) {
  ProgramBuilder program = TwoEntries();
  auto session = testing::MakeSession(program);
  EXPECT_EQ(session->allocated_bytes(), ComputeReservedMemory((*program.Build())->description()).total());
}

TEST(ReservedMemoryTest, GpusHaveSlotsOfInputsAndLeaveVariablesOnTheHost) {
  ProgramBuilder program = TwoEntries();
  program.executable().target = format::Target::cuda;
  auto executable = *program.Build();
  ReservedMemory memory = ComputeReservedMemory(executable->description());
  EXPECT_THAT(format::FindHostVariables(executable->description()), ElementsAre(false, false, true));
  EXPECT_EQ(memory.parameters, 12);
  EXPECT_EQ(memory.host, 40);
  EXPECT_EQ(memory.input_slots, 2 * (256 + 256 + 512));
  EXPECT_EQ(memory.total(), 256 + 1024 + 3 * (256 + 256 + 512) + 1024);
}

TEST(ReservedMemoryTest, SumsSaturate) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  ReservedMemory memory;
  memory.parameters = memory.arena = kMost / 2 + 1;
  EXPECT_EQ(memory.total(), kMost);
}

} // namespace
} // namespace cs336::runtime::reserved_memory_test
