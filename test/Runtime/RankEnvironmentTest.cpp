//===- RankEnvironmentTest.cpp - Places of processes in jobs --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/RankEnvironment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <string>

namespace cs336::runtime::rank_environment_test {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

absl::StatusOr<std::optional<RankEnvironment>> Read(const Variables &variables) {
  return ReadRankEnvironment([&](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

RankEnvironment ReadPlace(Variables variables) {
  variables.emplace("CS336_TOKEN", "0123456789abcdef");
  absl::StatusOr<std::optional<RankEnvironment>> place = Read(variables);
  EXPECT_TRUE(place.ok()) << place.status();
  EXPECT_TRUE(place.ok() && place->has_value());
  return place.ok() && place->has_value() ? **place : RankEnvironment{};
}

std::string ReadError(Variables variables) {
  absl::StatusOr<std::optional<RankEnvironment>> place = Read(variables);
  EXPECT_EQ(place.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(place.status().message());
}

TEST(RankEnvironmentTest, AProcessOfItsOwnHasNoPlace) {
  EXPECT_EQ(Read({})->has_value(), false);
  EXPECT_EQ(Read({{"RANK", "0"}})->has_value(), false);
  EXPECT_EQ(Read({{"RANK", "0"}, {"WORLD_SIZE", "1"}})->has_value(), false);
  // A batch script of Slurm, outside of any step.
  EXPECT_EQ(Read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})->has_value(), false);
}

TEST(RankEnvironmentTest, ALauncherMayStartOneRank) {
  auto has_launcher = [](const Variables &variables) {
    return HasLauncher([&](const char *name) -> const char * { return variables.count(name) != 0 ? "1" : nullptr; });
  };
  EXPECT_TRUE(has_launcher({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  EXPECT_TRUE(has_launcher({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
  EXPECT_FALSE(has_launcher({{"RANK", "0"}, {"SLURM_NTASKS", "1"}}));
}

TEST(RankEnvironmentTest, Torchrun) {
  RankEnvironment place = ReadPlace({{"RANK", "5"},
                                     {"WORLD_SIZE", "8"},
                                     {"LOCAL_RANK", "1"},
                                     {"LOCAL_WORLD_SIZE", "4"},
                                     {"MASTER_ADDR", "node1"},
                                     {"MASTER_PORT", "4000"},
                                     {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 4);
  EXPECT_EQ(place.address, "node1");
  EXPECT_EQ(place.port, 4001);
  EXPECT_EQ(place.token, "0123456789abcdef");
  EXPECT_FALSE(place.is_hosted);
}

TEST(RankEnvironmentTest, Mpirun) {
  for (Variables variables : {Variables{{"OMPI_COMM_WORLD_RANK", "1"},
                                        {"OMPI_COMM_WORLD_SIZE", "2"},
                                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
                              Variables{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}}) {
    RankEnvironment place = ReadPlace(variables);
    EXPECT_EQ(place.rank, 1);
    EXPECT_EQ(place.size, 2);
    EXPECT_EQ(place.local_rank, 1);
    EXPECT_EQ(place.local_size, 2);
    EXPECT_EQ(place.address, "127.0.0.1");
    EXPECT_EQ(place.port, 29500);
  }
}

TEST(RankEnvironmentTest, Srun) {
  RankEnvironment place = ReadPlace({{"SLURM_PROCID", "3"},
                                     {"SLURM_STEP_NUM_TASKS", "4"},
                                     {"SLURM_LOCALID", "1"},
                                     {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                     {"MASTER_ADDR", "10.0.0.1"}});
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 2);
}

TEST(RankEnvironmentTest, ReadsWhatALauncherSets) {
  RankEnvironment place;
  place.rank = place.local_rank = 2;
  place.size = place.local_size = 3;
  place.port = 1234;
  place.token = CreateToken();
  for (bool is_hosted : {false, true}) {
    place.is_hosted = is_hosted;
    Variables variables;
    for (const std::string &assignment : ToVariables(place))
      variables.emplace(assignment.substr(0, assignment.find('=')), assignment.substr(assignment.find('=') + 1));
    RankEnvironment read = ReadPlace(variables);
    EXPECT_EQ(read.rank, 2);
    EXPECT_EQ(read.size, 3);
    EXPECT_EQ(read.local_rank, 2);
    EXPECT_EQ(read.local_size, 3);
    EXPECT_EQ(read.address, "127.0.0.1");
    EXPECT_EQ(read.port, 1234);
    EXPECT_EQ(read.token, place.token);
    EXPECT_EQ(read.is_hosted, is_hosted);
  }
}

TEST(RankEnvironmentTest, RefusesImpossibleValues) {
  EXPECT_EQ(ReadError({{"RANK", "1"}}),
            "the environment variable RANK is set, but WORLD_SIZE is not: set both, or neither for a run without other "
            "ranks");
  EXPECT_THAT(ReadError({{"WORLD_SIZE", "4"}}), HasSubstr("WORLD_SIZE is set, but RANK is not"));
  EXPECT_EQ(ReadError({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
            "the environment variable RANK is '2', must be an integer from 0 to 1");
  EXPECT_EQ(ReadError({{"RANK", "0"}, {"WORLD_SIZE", "two"}}),
            "the environment variable WORLD_SIZE is 'two', must be an integer from 1 to 65536");
  EXPECT_EQ(ReadError({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "3"}}),
            "the environment variable LOCAL_WORLD_SIZE is '3', must be an integer from 1 to 2");
  EXPECT_THAT(ReadError({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "1"}}), HasSubstr("MASTER_ADDR"));
  EXPECT_EQ(ReadError({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "0"}}),
            "the environment variable MASTER_PORT is '0', must be an integer from 1 to 65535");
  EXPECT_EQ(ReadError({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "the environment variable CS336_TOKEN, which admits a process to the group, is not set: set it to at least "
            "16 random characters, the same on all ranks: export CS336_TOKEN=$(openssl rand -hex 16)");
  EXPECT_THAT(ReadError({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"CS336_TOKEN", "short"}}),
              HasSubstr("has 5 characters, must have at least 16"));
}

TEST(RankEnvironmentTest, TokensDiffer) {
  EXPECT_EQ(CreateToken().size(), 32u);
  EXPECT_NE(CreateToken(), CreateToken());
}

} // namespace
} // namespace cs336::runtime::rank_environment_test
