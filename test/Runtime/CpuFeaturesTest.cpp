//===- CpuFeaturesTest.cpp - Names of instruction sets --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cpu/CpuFeatures.h"

#include <gtest/gtest.h>

namespace cs336::runtime::cpu_features_test {
namespace {

TEST(CpuFeaturesTest, ReadsCpuinfo) {
  CpuFeatures features = CpuFeatures::Parse("processor\t: 0\n"
                                            "vendor_id\t: AuthenticAMD\n"
                                            "flags\t\t: fpu pni abm sse4_2 "
                                            "avx512_bf16 avx2 lahf_lm\n"
                                            "bugs\t\t: sysret_ss_attrs\n");
  for (const char *name :
       {"avx2", "AVX2", "avx512_bf16", "avx512bf16", "sse4_2", "sse4.2", "crc32", "sse3", "lzcnt", "sahf", "x87"})
    EXPECT_TRUE(features.Has(name)) << name;
  for (const char *name : {"avx", "avx512f", "sysret_ss_attrs", "", "flags"})
    EXPECT_FALSE(features.Has(name)) << name;
}

TEST(CpuFeaturesTest, AMachineWithoutListHasNothing) {
  EXPECT_FALSE(CpuFeatures::Parse("").Has("avx2"));
  EXPECT_FALSE(CpuFeatures::Parse("flags").Has("flags"));
}

TEST(CpuFeaturesTest, TheHostHasItsBaseline) {
#ifdef __x86_64__
  EXPECT_EQ(HostTarget(), "x86_64");
  EXPECT_TRUE(CpuFeatures::Host()->Has("sse2"));
#else
  GTEST_SKIP() << "the baseline is known for x86-64 only";
#endif
}

} // namespace
} // namespace cs336::runtime::cpu_features_test
