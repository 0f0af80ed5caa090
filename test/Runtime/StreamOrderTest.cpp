//===- StreamOrderTest.cpp - Executables whose streams race ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "ProgramParts.h"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::stream_order_test {
namespace {

using testing::Buffer;
using testing::Entry;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeType;
using testing::ProgramBuilder;

/// The buffers of the program.
enum : uint32_t { kX, kY, kZ, kGradient, kOther, kW };

/// A step whose gradients are averaged on stream 1, beside a copy on stream 0:
///
///     0 copy x -> gradient
///     1 record 0
///     2 wait 0                  on stream 1
///     3 all_reduce gradient     on stream 1
///     4 record 1                on stream 1
///     5 copy x -> other
///     6 copy other -> y
///     7 wait 1
///     8 copy gradient -> w
///     9 copy w -> z
ProgramBuilder OverlapProgram() {
  ProgramBuilder program;
  program.Variable("w", MakeType(DType::kF32, {4, 4}));
  EntryBuilder entry = program.Entry("train", format::Mode::train);
  entry.entry().streams = 2;
  entry.entry().events = 2;
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {4, 4}));
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {4, 4}));
  uint32_t z = entry.Output("z", MakeType(DType::kF32, {4, 4}));
  uint32_t gradient = entry.Arena("gradient", MakeType(DType::kF32, {4, 4}));
  uint32_t other = entry.Arena("other", MakeType(DType::kF32, {4, 4}));
  uint32_t w = entry.Variable("w");
  entry.Copy(x, gradient);
  entry.Record(0);
  entry.Wait(0);
  entry.Collective(format::CollectiveKind::all_reduce, gradient, gradient, format::Reduction::mean);
  entry.Record(1);
  for (size_t i : {2, 3, 4})
    entry.entry().commands[i]->stream = 1;
  entry.Copy(x, other);
  entry.Copy(other, y);
  entry.Wait(1);
  entry.Copy(gradient, w);
  entry.Copy(w, z);
  return program;
}

/// Makes a wait or a record useless, and keeps it valid.
void MoveToTheEnd(format::ExecutableT &executable, size_t command) {
  auto &commands = Entry(executable).commands;
  std::rotate(commands.begin() + command, commands.begin() + command + 1, commands.end());
}

TEST(StreamOrderTest, AcceptsStreamsThatEventsOrder) {
  auto executable = OverlapProgram().Build();
  EXPECT_TRUE(executable.ok()) << executable.status();
}

TEST(StreamOrderTest, AcceptsSharedBytesAfterAnEvent) {
  // The gradient of a second step takes the bytes of the first, which stream 0 has waited for and read.
  ProgramBuilder program = OverlapProgram();
  EntryBuilder entry(program.executable(), Entry(program.executable()));
  uint32_t late = entry.Arena("late", MakeType(DType::kF32, {4, 4}));
  entry.Move(late, Buffer(program.executable(), kGradient).byte_offset);
  entry.Copy(kX, late);
  auto executable = program.Build();
  EXPECT_TRUE(executable.ok()) << executable.status();
}

TEST(StreamOrderTest, AcceptsDisjointPartsOfABuffer) {
  ProgramBuilder program = OverlapProgram();
  EntryBuilder entry(program.executable(), Entry(program.executable()));
  uint32_t pair = entry.Arena("pair", MakeType(DType::kF32, {8, 4}));
  entry.Copy(kX, entry.View(pair, {4, 4}, {4, 1}, 0));
  entry.Copy(kX, entry.View(pair, {4, 4}, {4, 1}, 64));
  entry.entry().commands.back()->stream = 1;
  auto executable = program.Build();
  EXPECT_TRUE(executable.ok()) << executable.status();
}

struct Race {
  std::string name;
  std::function<void(format::ExecutableT &)> apply;
  std::string message;
};

class StreamRaceTest : public ::testing::TestWithParam<Race> {};

TEST_P(StreamRaceTest, IsRefused) {
  ProgramBuilder program = OverlapProgram();
  GetParam().apply(program.executable());
  absl::Status status = program.Build().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

const Race kRaces[] = {
    {"ReadBeforeTheWait", [](auto &e) { MoveToTheEnd(e, 7); },
     "entry 'train': command 7 'c8': on stream 0 it reads bytes of 'gradient' that command 3 'c3' writes on stream 1, "
     "and it waits for no event after that command"},
    {"CollectiveBeforeTheWait", [](auto &e) { MoveToTheEnd(e, 2); },
     "command 2 'c3': on stream 1 it reads bytes of 'gradient' that command 0 'c0' writes on stream 0"},
    {"RecordedTooEarly", [](auto &e) { std::swap(Entry(e).commands[0], Entry(e).commands[1]); },
     "command 3 'c3': on stream 1 it reads bytes of 'gradient' that command 1 'c0' writes on stream 0"},
    {"SharedBytesWithoutAnEvent",
     [](auto &e) { Buffer(e, kOther).byte_offset = Buffer(e, kGradient).byte_offset + 60; },
     "command 5 'c5': on stream 0 it writes bytes of 'other' that command 3 'c3' writes on stream 1"},
    {"WriteAfterRead",
     [](auto &e) {
       // Stream 1 reads the variable, which stream 0 overwrites.
       Entry(e).commands[3]->body.AsCollective()->sources = {kW};
       Entry(e).commands[3]->body.AsCollective()->targets = {kOther};
       Entry(e).commands[5]->body.AsCopy()->dst = kW;
       Entry(e).commands[6]->body.AsCopy()->src = kX;
     },
     "command 5 'c5': on stream 0 it writes bytes of 'w' that command 3 'c3' reads on stream 1"},
    {"Workspace",
     [](auto &e) {
       // The GEMM uses the bytes of the gradient as its workspace.
       format::GemmT gemm;
       gemm.a = gemm.b = kOther;
       gemm.c = kY;
       gemm.workspace = kGradient;
       Entry(e).commands[6]->body.Set(std::move(gemm));
     },
     "command 6 'c6': on stream 0 it writes bytes of 'gradient' that command 3 'c3' writes on stream 1"},
};

INSTANTIATE_TEST_SUITE_P(Races, StreamRaceTest, ::testing::ValuesIn(kRaces),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace cs336::runtime::stream_order_test
