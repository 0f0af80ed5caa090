//===- ArchitectureTest.cpp - The machine code that a GPU runs ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/Architecture.h"

#include <gtest/gtest.h>
#include <vector>

namespace cs336::runtime::architecture_test {
namespace {

std::string Choose(std::vector<std::string> targets, ComputeCapability device) {
  absl::optional<size_t> chosen = ChooseTarget(targets, device);
  return chosen ? targets[*chosen] : "none";
}

TEST(ArchitectureTest, PlainCodeRunsOnLaterMinorVersions) {
  EXPECT_TRUE(RunsOn("sm_80", {8, 0}));
  EXPECT_TRUE(RunsOn("sm_80", {8, 9}));
  EXPECT_FALSE(RunsOn("sm_86", {8, 0}));
  EXPECT_FALSE(RunsOn("sm_80", {9, 0}));
  EXPECT_TRUE(RunsOn("sm_120", {12, 1}));
  EXPECT_FALSE(RunsOn("sm_120", {1, 20}));
}

TEST(ArchitectureTest, SpecificCodeRunsOnItsVersionAlone) {
  EXPECT_TRUE(RunsOn("sm_90a", {9, 0}));
  EXPECT_FALSE(RunsOn("sm_100a", {10, 3}));
  EXPECT_TRUE(RunsOn("sm_100f", {10, 3}));
  EXPECT_FALSE(RunsOn("sm_103f", {10, 0}));
}

TEST(ArchitectureTest, WhatIsNoTargetRunsNowhere) {
  for (const char *target : {"", "sm_", "sm_9", "sm_a", "sm_90b", "90a", "sm_-90", "sm_900000", "x86_64", "compute_90"})
    EXPECT_FALSE(RunsOn(target, {9, 0})) << target;
}

TEST(ArchitectureTest, ChoosesTheClosest) {
  std::vector<std::string> all = {"sm_80", "sm_86", "sm_90", "sm_90a", "sm_100a", "sm_120"};
  EXPECT_EQ(Choose(all, {8, 0}), "sm_80");
  EXPECT_EQ(Choose(all, {8, 9}), "sm_86");
  EXPECT_EQ(Choose(all, {9, 0}), "sm_90a");
  EXPECT_EQ(Choose(all, {10, 0}), "sm_100a");
  EXPECT_EQ(Choose(all, {10, 3}), "none");
  EXPECT_EQ(Choose(all, {12, 1}), "sm_120");
  EXPECT_EQ(Choose({"sm_90a", "sm_90"}, {9, 0}), "sm_90a");
  EXPECT_EQ(Choose({}, {9, 0}), "none");
}

TEST(ArchitectureTest, NamesWhatToCompileFor) {
  EXPECT_EQ(TargetFor({8, 9}), "sm_89");
  EXPECT_EQ(TargetFor({9, 0}), "sm_90a");
  EXPECT_EQ(TargetFor({10, 3}), "sm_103a");
  EXPECT_EQ(TargetFor({12, 0}), "sm_120");
}

} // namespace
} // namespace cs336::runtime::architecture_test
