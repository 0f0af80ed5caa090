//===- KernelProfilerTest.cpp - Times of kernels, from records to a table -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/KernelProfiler.h"

#include "device/cuda/CuptiApi.h"
#include "fake_cupti/FakeCupti.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFake[] = "libcs336-fake-cupti.so";

auto Named(const std::string &name) { return Field(&KernelRecord::name, name); }

TEST(KernelProfilerTest, RecordsAreNamedAndInOrder) {
  auto profiler = KernelProfiler::Create(kFake);
  ASSERT_TRUE(profiler.ok()) << profiler.status();
  FakeCuptiKernel("before", 1, 2, 0);
  ASSERT_TRUE((*profiler)->Start().ok());
  FakeCuptiKernel("ffn_silu_mul_3f2a", 300, 450, 7);
  FakeCuptiMemcpy(8, 100, 110);
  FakeCuptiKernel("_Z4gemmILi64EEvPKfPf", 200, 260, 8); // void gemm<64>(float const*, float*)
  FakeCuptiMemset(500, 501);
  FakeCuptiMemcpy(1, 600, 605);
  auto records = (*profiler)->Stop();
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_THAT(*records,
              ElementsAre(Named("[CUDA memcpy Device-to-Device]"), Named("gemm<64>"), Named("ffn_silu_mul_3f2a"),
                          Named("[CUDA memset]"), Named("[CUDA memcpy Host-to-Device]")));
  EXPECT_EQ((*records)[2].start_ns, 300);
  EXPECT_EQ((*records)[2].duration_ns, 150);
  EXPECT_EQ((*records)[2].graph_node, 7u);
  auto rest = (*profiler)->Stop();
  ASSERT_TRUE(rest.ok());
  EXPECT_THAT(*rest, IsEmpty());
}

TEST(KernelProfilerTest, ThereIsOneAtATime) {
  auto first = KernelProfiler::Create(kFake);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(FakeCuptiEnabledKinds(), 3);
  EXPECT_EQ(KernelProfiler::Create(kFake).status().code(), absl::StatusCode::kFailedPrecondition);
  first->reset();
  EXPECT_EQ(FakeCuptiEnabledKinds(), 0);
  EXPECT_TRUE(KernelProfiler::Create(kFake).ok());
}

TEST(KernelProfilerTest, LostRecordsAreAnError) {
  auto profiler = KernelProfiler::Create(kFake);
  ASSERT_TRUE(profiler.ok()) << profiler.status();
  ASSERT_TRUE((*profiler)->Start().ok());
  FakeCuptiDrop(12);
  auto records = (*profiler)->Stop();
  EXPECT_EQ(records.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(records.status().message()), HasSubstr("dropped 12 records"));
}

TEST(KernelProfilerTest, AnotherToolIsNamed) {
  FakeCuptiFailEnable(cupti::kMultipleSubscribers);
  absl::Status status = KernelProfiler::Create(kFake).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cuptiActivityEnable: FAKE_39"));
  EXPECT_TRUE(KernelProfiler::Create(kFake).ok());
}

TEST(KernelProfilerTest, NoLibraryIsAnAnswer) {
  absl::Status status = KernelProfiler::Create("libcupti-missing.so.13").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nvidia-cuda-cupti"));
}

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

TEST(KernelSummaryTest, AddsUpByName) {
  std::vector<KernelSummary> summaries =
      SummarizeKernels({{"b", 0, 10, 0}, {"a", 10, 300, 0}, {"b", 400, 30, 0}, {"b", 500, 20, 0}, {"b", 600, 40, 0}});
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].name, "a");
  EXPECT_EQ(summaries[0].share, 0.75);
  EXPECT_EQ(summaries[0].instances, 1);
  EXPECT_EQ(summaries[0].median, 300);
  EXPECT_EQ(summaries[0].standard_deviation, 0);
  EXPECT_EQ(summaries[1].name, "b");
  EXPECT_EQ(summaries[1].total, 100);
  EXPECT_EQ(summaries[1].instances, 4);
  EXPECT_EQ(summaries[1].average, 25);
  EXPECT_EQ(summaries[1].median, 25);
  EXPECT_EQ(summaries[1].shortest, 10);
  EXPECT_EQ(summaries[1].longest, 40);
  EXPECT_NEAR(summaries[1].standard_deviation, 12.9099, 1e-4);
  EXPECT_TRUE(SummarizeKernels({}).empty());
}

} // namespace
} // namespace cs336::runtime
