//===- CoresTest.cpp - Cores of the ranks of a host -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <initializer_list>
#include <vector>

namespace cs336::runtime::cores_test {
namespace {

using ::testing::ElementsAre;

cpu_set_t SetOf(std::initializer_list<int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores)
    CPU_SET(core, &set);
  return set;
}

std::vector<int> Share(const cpu_set_t &all, int part, int parts) {
  cpu_set_t share = ShareOfCores(all, part, parts);
  std::vector<int> cores;
  for (int core = 0; core != CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &share))
      cores.push_back(core);
  return cores;
}

TEST(CoresTest, SharesAreNeighboursAndDiffer) {
  cpu_set_t cores = SetOf({1, 2, 5, 7, 900});
  EXPECT_THAT(Share(cores, 0, 1), ElementsAre(1, 2, 5, 7, 900));
  EXPECT_THAT(Share(cores, 0, 2), ElementsAre(1, 2, 5));
  EXPECT_THAT(Share(cores, 1, 2), ElementsAre(7, 900));
}

TEST(CoresTest, PartsShareCoresIfThereAreTooFew) {
  cpu_set_t cores = SetOf({3, 4});
  EXPECT_THAT(Share(cores, 0, 3), ElementsAre(3));
  EXPECT_THAT(Share(cores, 1, 3), ElementsAre(4));
  EXPECT_THAT(Share(cores, 2, 3), ElementsAre(3));
  EXPECT_THAT(Share(SetOf({}), 1, 2), ElementsAre());
}

} // namespace
} // namespace cs336::runtime::cores_test
