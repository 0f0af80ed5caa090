//===- CacheFolderTest.cpp - Where results are kept between runs ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/CacheFolder.h"

#include "gtest/gtest.h"

#include <cstdlib>

namespace cs336::runtime {
namespace {

void SetOrUnset(const char *name, const char *value) { value ? setenv(name, value, 1) : unsetenv(name); }

std::string CacheFolderWith(const char *own, const char *xdg, const char *home) {
  SetOrUnset("CS336_CACHE_DIR", own);
  SetOrUnset("XDG_CACHE_HOME", xdg);
  SetOrUnset("HOME", home);
  return CacheFolder();
}

TEST(CacheFolderTest, IsWhereTheEnvironmentSays) {
  EXPECT_EQ(CacheFolderWith("/scratch/kernels", "/xdg", "/home/someone"), "/scratch/kernels");
  EXPECT_EQ(CacheFolderWith(nullptr, "/xdg", "/home/someone"), "/xdg/cs336-opt");
  EXPECT_EQ(CacheFolderWith("", "", "/home/someone"), "/home/someone/.cache/cs336-opt");
  EXPECT_EQ(CacheFolderWith(nullptr, nullptr, nullptr), "");
}

} // namespace
} // namespace cs336::runtime
