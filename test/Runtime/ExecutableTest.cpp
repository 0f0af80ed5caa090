//===- ExecutableTest.cpp - Reading executables, whole and damaged --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"

#include "ProgramBuilder.h"
#include "cs336/runtime/PlanSummary.h"
#include "cs336/runtime/format/ExecutableFile.h"

#include "absl/strings/str_cat.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

namespace cs336::runtime::executable_test {
namespace {

using testing::AsBytes;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeType;
using testing::ProgramBuilder;
using testing::SampleProgram;

/// Loads a copy in a block of exactly its size, so that AddressSanitizer
/// detects every read beyond it.
absl::Status LoadStatus(absl::Span<const uint8_t> bytes) {
  std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), exact.get());
  return Executable::FromBytes({exact.get(), bytes.size()}).status();
}

TEST(ExecutableTest, RoundTrips) {
  auto executable = SampleProgram().Build();
  ASSERT_TRUE(executable.ok()) << executable.status();
  const format::ExecutableT &description = (*executable)->description();
  EXPECT_EQ(description.producer, "test");
  ASSERT_EQ(description.variables.size(), 4u);
  EXPECT_EQ(description.variables[0]->views[1]->name, "k.weight");
  EXPECT_EQ(description.variables[0]->views[1]->row_offset, 2);
  const format::EntryT *train = (*executable)->FindEntry("train");
  ASSERT_NE(train, nullptr);
  EXPECT_EQ(train->commands[0]->location, "model.mlir:1");
  EXPECT_EQ(train->commands[3]->body.AsGemm()->c, 2u);
  EXPECT_EQ((*executable)->FindEntry("loss"), nullptr);
}

TEST(ExecutableTest, LoadsFromAFile) {
  std::string path = absl::StrCat(::testing::TempDir(), getpid(), "_sample.cs336x");
  std::ofstream(path, std::ios::binary) << SampleProgram().Bytes();
  EXPECT_TRUE(Executable::Load(path).ok());
  std::ofstream(path, std::ios::binary) << "nothing of the kind, but long enough";
  absl::Status status = Executable::Load(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_EQ(Executable::Load(path + ".missing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(Executable::Load(::testing::TempDir()).ok());
}

TEST(ExecutableTest, RefusesEveryTruncation) {
  std::string bytes = SampleProgram().Bytes();
  for (size_t size = 0; size != bytes.size(); ++size)
    ASSERT_EQ(LoadStatus(AsBytes(bytes).first(size)).code(), absl::StatusCode::kDataLoss) << size;
  EXPECT_EQ(LoadStatus(AsBytes(bytes + '\0')).code(), absl::StatusCode::kDataLoss);
}

TEST(ExecutableTest, RefusesEveryChangedByte) {
  // Without the kernels' image, whose bytes are not checked one by one.
  ProgramBuilder program = SampleProgram();
  program.executable().objects[0]->image.resize(64);
  std::string bytes = program.Bytes();
  std::mt19937 random(1);
  for (size_t i = 0; i != bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= static_cast<char>(1u << random() % 8);
    ASSERT_FALSE(LoadStatus(AsBytes(changed)).ok()) << "byte " << i;
  }
}

TEST(ExecutableTest, SurvivesDamageUnderAValidChecksum) {
  ProgramBuilder program = SampleProgram();
  program.executable().objects[0]->image.resize(64);
  std::string bytes = program.Bytes();
  std::string table = bytes.substr(format::kFrameSize);
  std::mt19937 random(2);
  int accepted = 0, refused = 0;
  for (int trial = 0; trial != 20000; ++trial) {
    std::string changed = table;
    for (int flips = 1 + random() % 3; flips != 0; --flips) {
      char &byte = changed[random() % changed.size()];
      byte = random() % 2 ? static_cast<char>(random()) : static_cast<char>(byte ^ 1u << random() % 8);
    }
    std::string sealed = format::Seal(reinterpret_cast<const uint8_t *>(changed.data()), changed.size());
    (LoadStatus(AsBytes(sealed)).ok() ? accepted : refused)++;
  }
  // Both must occur: a name may change, an offset may not.
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

TEST(ExecutableTest, RefusesUnknownCommands) {
  // Writers reject these values, so they are set in the table's memory.
  std::string bytes = SampleProgram().Bytes();
  std::vector<uint64_t> aligned(bytes.size() / 8 + 1);
  uint8_t *table = reinterpret_cast<uint8_t *>(aligned.data());
  size_t size = bytes.size() - format::kFrameSize;
  std::copy_n(bytes.begin() + format::kFrameSize, size, table);
  const format::Command *command = format::GetExecutable(table)->entries()->Get(1)->commands()->Get(0);
  auto *fields = reinterpret_cast<flatbuffers::Table *>(const_cast<format::Command *>(command));
  constexpr auto kLast = static_cast<uint8_t>(format::CommandBody::MAX);
  for (uint8_t kind : {uint8_t{0}, uint8_t{kLast + 1}, uint8_t{255}}) {
    ASSERT_TRUE(fields->SetField(format::Command::VT_BODY_TYPE, kind, uint8_t{100}));
    absl::Status status = LoadStatus(AsBytes(format::Seal(table, size)));
    EXPECT_THAT(std::string(status.message()), HasSubstr("command 0 'c0': unknown kind of command"));
  }
}

TEST(ExecutableTest, RefusesOtherVersions) {
  std::string bytes = SampleProgram().Bytes();
  for (uint32_t version : {format::kFormatVersion - 1, format::kFormatVersion + 1}) {
    std::string other = format::Seal(reinterpret_cast<const uint8_t *>(bytes.data()) + format::kFrameSize,
                                     bytes.size() - format::kFrameSize, version);
    absl::Status status = LoadStatus(AsBytes(other));
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("format version ", version)));
  }
}

TEST(ExecutableTest, ReadsUnalignedBytes) {
  std::string bytes = SampleProgram().Bytes();
  for (int shift = 1; shift != 8; ++shift) {
    std::string shifted = std::string(shift, ' ') + bytes;
    EXPECT_TRUE(Executable::FromBytes(AsBytes(shifted).subspan(shift)).ok());
  }
}

TEST(ExecutableTest, SummarizesThePlan) {
  auto executable = *SampleProgram().Build();
  PlanSummary plan = *Summarize(*executable, "train", 5);
  EXPECT_EQ(plan.arena_bytes, 128 + 64 + 48); // "y", "x_scaled", "scaled", at multiples of 64.
  EXPECT_EQ(plan.parameter_bytes, 6 * 4 * 4 + 4 * 4);
  EXPECT_EQ(plan.state_bytes, 8);
  EXPECT_EQ(plan.derived_bytes, 6 * 4 * 4);
  EXPECT_EQ(plan.input_bytes, 3 * 4 * 4 + 2 * 3 * 4);
  EXPECT_EQ(plan.commands, 7);
  EXPECT_EQ(plan.kernels, 2);
  ASSERT_EQ(plan.largest.size(), 3u);
  EXPECT_EQ(plan.largest[0].name, "y");
  EXPECT_EQ(plan.largest[0].byte_size, 72);
  EXPECT_EQ(plan.largest[1].name, "scaled");
  EXPECT_EQ(plan.largest[1].byte_size, 48);
  EXPECT_EQ(Summarize(*executable, "loss").status().code(), absl::StatusCode::kNotFound);
}

TEST(ExecutableTest, VariablesStayOnTheHostForTheEntryThatSessionsPrepareWith) {
  auto stays = [](const char *name) {
    ProgramBuilder program;
    program.executable().target = format::Target::cuda;
    program.Variable("w", MakeType(DType::kF32, {4}));
    EntryBuilder entry = program.Entry(name, format::Mode::prepare);
    entry.Copy(entry.Variable("w"), entry.Output("y", MakeType(DType::kF32, {4})));
    return (*program.Build())->StaysOnHost(0);
  };
  EXPECT_TRUE(stays("prepare"));
  EXPECT_FALSE(stays("loss"));
}

} // namespace
} // namespace cs336::runtime::executable_test
