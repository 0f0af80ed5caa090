//===- LiveBytesTest.cpp - Memory that commands need ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/LiveBytes.h"

#include "ProgramBuilder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime {
namespace {

using ::testing::ElementsAre;
using testing::MakeType;

TEST(LiveBytesTest, BytesLiveFromTheirWriteToTheirLastRead) {
  testing::ProgramBuilder program;
  testing::EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {4}));
  uint32_t a = entry.Arena("a", MakeType(DType::kF32, {4})), b = entry.Arena("b", MakeType(DType::kF32, {4}));
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {4}));
  entry.Copy(x, a); // a
  entry.Copy(a, b); // a, b
  entry.Copy(b, y); // b, y
  entry.Copy(x, a); // a, which nothing reads, and y
  EXPECT_THAT(LiveBytes(entry.entry()), ElementsAre(16, 32, 32, 32));
}

TEST(LiveBytesTest, ViewsSplitAndJoinBytes) {
  testing::ProgramBuilder program;
  testing::EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {4}));
  uint32_t half = entry.Input("half", MakeType(DType::kF32, {2}));
  uint32_t a = entry.Arena("a", MakeType(DType::kF32, {4}));
  uint32_t low = entry.View(a, {2}, {1}), high = entry.View(a, {2}, {1}, 8);
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {2})), z = entry.Output("z", MakeType(DType::kF32, {2}));
  entry.Copy(x, a);       // a
  entry.Copy(high, y);    // a, and y, which is written again
  entry.Copy(half, high); // a
  entry.Copy(low, y);     // a, y
  entry.Copy(high, z);    // high, y, z
  EXPECT_THAT(LiveBytes(entry.entry()), ElementsAre(16, 24, 16, 24, 24));
}

TEST(LiveBytesTest, AWorkspaceLivesDuringItsCommand) {
  testing::ProgramBuilder program;
  testing::EntryBuilder entry = program.Entry("forward");
  uint32_t a = entry.Input("a", MakeType(DType::kF32, {2, 2})), b = entry.Input("b", MakeType(DType::kF32, {2, 2}));
  uint32_t c = entry.Output("c", MakeType(DType::kF32, {2, 2})),
           workspace = entry.Arena("w", MakeType(DType::kI1, {100}));
  entry.Gemm(a, b, c).workspace = workspace;
  entry.Gemm(a, b, c);
  EXPECT_THAT(LiveBytes(entry.entry()), ElementsAre(116, 16));
}

TEST(LiveBytesTest, NoCommandsNeedNothing) { EXPECT_TRUE(LiveBytes({}).empty()); }

} // namespace
} // namespace cs336::runtime
