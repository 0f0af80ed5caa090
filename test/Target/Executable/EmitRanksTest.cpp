//===- EmitRanksTest.cpp - Emitted programs of several ranks --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitExecutableFixture.h"

#include "cs336/runtime/format/ExecutableFile.h"
#include "llvm/Support/FormatVariadic.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cs336 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using EmitRanksTest = EmitExecutableTest;

/// An entry with two collectives, of these groups, and a copy at this source location.
std::string CollectiveProgram(int first, int second, const std::string &location = "a.mlir") {
  return llvm::formatv(R"mlir(
exec.entry @train mode<forward> arena_bytes = 256 alignment = 64 {{
  %x = exec.input "x" : memref<4xf32>
  %z = exec.input "z" : memref<8xbf16>
  %y = exec.output "y" output offset = 0 : memref<4xf32>
  %e = exec.output "e" output offset = 64 : memref<8xbf16>
  %c = exec.output "c" output offset = 128 : memref<4xf32>
  exec.collective all_reduce mean ins(%x, %z : memref<4xf32>, memref<8xbf16>) outs(%y, %e : memref<4xf32>, memref<8xbf16>) group = {0} loc("{2}":1:2)
  exec.collective broadcast ins(%x : memref<4xf32>) outs(%c : memref<4xf32>) group = {1} root = 1
})mlir",
                       first, second, location)
      .str();
}

TEST_F(EmitRanksTest, CollectivesHaveTheirOperandsAndTheProgramItsRanks) {
  auto bytes = Emit(CollectiveProgram(4, 4));
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  EXPECT_EQ(executable->description().world_size, 4);
  const format::EntryT &train = *executable->FindEntry("train");
  ASSERT_THAT(train.commands, SizeIs(2));
  const format::CollectiveT &reduce = *train.commands[0]->body.AsCollective();
  EXPECT_EQ(reduce.kind, format::CollectiveKind::all_reduce);
  EXPECT_EQ(reduce.reduction, format::Reduction::mean);
  ASSERT_THAT(reduce.sources, SizeIs(2));
  ASSERT_THAT(reduce.targets, SizeIs(2));
  EXPECT_EQ(train.buffers[reduce.sources[1]]->name, "z");
  EXPECT_EQ(train.buffers[reduce.targets[1]]->name, "e");
  const format::CollectiveT &broadcast = *train.commands[1]->body.AsCollective();
  EXPECT_EQ(broadcast.kind, format::CollectiveKind::broadcast);
  EXPECT_EQ(broadcast.root, 1u);
}

/// A program for `group` ranks that reads the part of the rank `shift` further on, of `parts`.
std::string PartProgram(int parts, int group, int shift = 0) {
  return llvm::formatv(R"mlir(
exec.entry @forward mode<forward> arena_bytes = 1024 alignment = 64 {{
  %x = exec.input "x" : memref<128xbf16>
  %a = exec.alloc offset = 0 : memref<128xbf16>
  exec.copy ins(%x : memref<128xbf16>) outs(%a : memref<128xbf16>)
  %p = exec.view %a : memref<128xbf16> to memref<{0}x32xbf16>
  %own = exec.part rank + {3} of %p : memref<{0}x32xbf16> -> memref<32xbf16>
  %y = exec.output "y" output offset = 256 : memref<{2}xbf16>
  exec.collective all_gather others ins(%own : memref<32xbf16>) outs(%y : memref<{2}xbf16>) group = {1}
})mlir",
                       parts, group, 32 * (group - 1), shift)
      .str();
}

TEST_F(EmitRanksTest, DescribesTheOwnPartAndThoseOfOthers) {
  auto bytes = Emit(PartProgram(2, 2));
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  const format::EntryT &forward = *executable->FindEntry("forward");
  const format::CollectiveT &gather = *forward.commands.back()->body.AsCollective();
  EXPECT_TRUE(gather.others);
  const format::BufferT &part = *forward.buffers[gather.sources[0]];
  EXPECT_EQ(part.part_distance, 64);
  EXPECT_EQ(part.part_shift, 0);
  EXPECT_EQ(part.byte_offset, 0);
  EXPECT_EQ(part.byte_size, 256);
  EXPECT_EQ(forward.buffers[gather.targets[0]]->part_distance, 0);
}

TEST_F(EmitRanksTest, DescribesThePartOfAnotherRank) {
  auto bytes = Emit(PartProgram(4, 4, /*shift=*/3));
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  const format::EntryT &forward = *executable->FindEntry("forward");
  EXPECT_EQ(forward.buffers[forward.commands.back()->body.AsCollective()->sources[0]]->part_shift, 3);
}

TEST_F(EmitRanksTest, RefusesPartsOfOtherRanksThanThoseOfCollectives) {
  EXPECT_TRUE(failed(Emit(PartProgram(2, 3))));
  EXPECT_THAT(error, HasSubstr("has 2 parts, but 3 ranks run the program"));
}

TEST_F(EmitRanksTest, ProgramsWithoutCollectivesAreForOneRank) {
  auto bytes = Emit("exec.entry @forward mode<forward> arena_bytes = 0 alignment = 64 {\n}");
  ASSERT_TRUE(succeeded(bytes)) << error;
  EXPECT_EQ(Read(*bytes)->description().world_size, 1);
}

TEST_F(EmitRanksTest, RefusesCollectivesOfSeveralGroups) {
  EXPECT_TRUE(failed(Emit(CollectiveProgram(4, 2))));
  EXPECT_THAT(error, HasSubstr("has group 2, but all collectives of a program must have one group"));
}

/// A program with sharded variables, and a collective of this group.
std::string ShardedProgram(int first, int second, int group) {
  return llvm::formatv(R"mlir(
exec.variable @ab parameter : memref<4x2xf32> {{shards = {0} : i64, views = [#cs336.view<"a", 5>, #cs336.view<"b", {3}>]}
exec.variable @m state : memref<3xf32> {{shards = {1} : i64}
exec.variable @whole parameter : memref<7xf32>
exec.entry @forward mode<forward> arena_bytes = 64 alignment = 64 {{
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output offset = 0 : memref<4xf32>
  exec.collective all_reduce mean ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) group = {2}
})mlir",
                       first, second, group, 4 * first - 5)
      .str();
}

TEST_F(EmitRanksTest, ShardedVariablesHaveTheTypeOfTheWhole) {
  auto bytes = Emit(ShardedProgram(3, 3, 3));
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  EXPECT_EQ(executable->description().world_size, 3);
  const format::VariableT &ab = *executable->variables()[0];
  EXPECT_EQ(ab.shards, 3);
  EXPECT_THAT(ab.type->shape, ElementsAre(12, 2));
  EXPECT_EQ(runtime::StoredType(ab).shape, (runtime::Dims{4, 2}));
  EXPECT_EQ(ab.views[1]->rows, 7);
  const format::VariableT &whole = *executable->variables()[2];
  EXPECT_EQ(whole.shards, 1);
  EXPECT_THAT(whole.type->shape, ElementsAre(7));
}

TEST_F(EmitRanksTest, ShardsAloneGiveTheNumberOfRanks) {
  auto bytes = Emit(R"mlir(
exec.variable @w parameter : memref<4x2xf32> {shards = 5 : i64}
exec.entry @forward mode<forward> arena_bytes = 0 alignment = 64 {
})mlir");
  ASSERT_TRUE(succeeded(bytes)) << error;
  EXPECT_EQ(Read(*bytes)->description().world_size, 5);
}

TEST_F(EmitRanksTest, RefusesShardsOfOtherRanks) {
  EXPECT_TRUE(failed(Emit(ShardedProgram(3, 2, 3))));
  EXPECT_THAT(error, HasSubstr("has 2 shards, but all sharded variables of a program must have as many"));
  EXPECT_TRUE(failed(Emit(ShardedProgram(3, 3, 2))));
  EXPECT_THAT(error, HasSubstr("has group 2, but the program's variables have 3 shards, one per rank"));
}

TEST_F(EmitRanksTest, HashesTellProgramsApartButNotHosts) {
  auto hash = [&](const std::string &text) {
    auto bytes = Emit(text);
    EXPECT_TRUE(succeeded(bytes)) << error;
    return succeeded(bytes) ? Read(*bytes)->description().program_hash : 0;
  };
  std::string program = CollectiveProgram(4, 4);
  uint64_t first = hash(program);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(hash(program), first);
  EXPECT_EQ(hash(CollectiveProgram(4, 4, "elsewhere/a.mlir")), first);
  kernels.objects.push_back({"x86_64", {"avx512f"}, {1, 2, 3}});
  EXPECT_EQ(hash(program), first);
  EXPECT_NE(hash(CollectiveProgram(2, 2)), first);
  program.replace(program.find("mean"), 4, "max");
  EXPECT_NE(hash(program), first);
}

} // namespace
} // namespace cs336
