//===- DriverApiTest.cpp - Loading the CUDA driver, or not ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/DriverApi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::driver_api_test {
namespace {

using ::testing::HasSubstr;

TEST(DriverApiTest, NoDriverIsAnAnswer) {
  absl::Status status = DriverApi::Load("libcuda-missing.so.1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("there is no CUDA driver: libcuda-missing.so.1"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("or run on the CPU"));
}

TEST(DriverApiTest, AnotherLibraryIsNoDriver) {
  absl::Status status = DriverApi::Load("libm.so.6").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("libm.so.6 is not a driver for CUDA 13.0"));
}

} // namespace
} // namespace cs336::runtime::driver_api_test
