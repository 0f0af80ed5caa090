//===- CuptiApiTest.cpp - Declarations of CUPTI's functions ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CuptiApi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::cupti_api_test {
namespace {

using ::testing::HasSubstr;

TEST(CuptiApiTest, DeclarationsAreTheLibrarys) {
  auto api = CuptiApi::Load();
  if (!api.ok())
    GTEST_SKIP() << api.status();
  uint32_t version = 0;
  EXPECT_EQ((*api)->GetVersion(&version), cupti::kSuccess);
  EXPECT_GE(version, 130000u);
  EXPECT_THAT(std::string((*api)->ToStatus(cupti::kMaxLimitReached, "ActivityGetNextRecord").message()),
              HasSubstr("cuptiActivityGetNextRecord: CUPTI_ERROR_MAX_LIMIT_REACHED"));
  EXPECT_THAT(std::string((*api)->ToStatus(cupti::kMultipleSubscribers, "ActivityEnable").message()),
              HasSubstr("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"));
  EXPECT_THAT(std::string((*api)->ToStatus(cupti::kInsufficientPrivileges, "ActivityEnable").message()),
              HasSubstr("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"));
}

} // namespace
} // namespace cs336::runtime::cupti_api_test
