//===- KernelProfilerTest.cpp - Times of kernels, from records to a table -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/KernelProfiler.h"

#include "device/cuda/CuptiApi.h"
#include "fake_cupti/FakeCupti.h"
#include "profile/CommandScope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Names(const Trace &trace) {
  std::vector<std::string> names;
  for (const TraceSpan &span : trace.spans)
    names.push_back(trace.names[span.name]);
  return names;
}

TEST(KernelProfilerTest, RecordsAreNamedAndInOrder) {
  auto profiler = KernelProfiler::Create();
  ASSERT_TRUE(profiler.ok()) << profiler.status();
  FakeCuptiKernel("before", 1, 2, 0);
  ASSERT_TRUE((*profiler)->Start().ok());
  FakeCuptiKernel("ffn_silu_mul_3f2a", 300, 450, 7);
  FakeCuptiMemcpy(8, 100, 110);
  FakeCuptiKernel("_Z4gemmILi64EEvPKfPf", 200, 260, 8); // void gemm<64>(float const*, float*)
  FakeCuptiMemset(500, 501);
  FakeCuptiMemcpyBetweenDevices(520, 540, 9);
  FakeCuptiMemcpy(1, 600, 605);
  auto trace = (*profiler)->Stop();
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(Names(*trace),
              ElementsAre("[CUDA memcpy Device-to-Device]", "gemm<64>", "ffn_silu_mul_3f2a", "[CUDA memset]",
                          "[CUDA memcpy Peer-to-Peer]", "[CUDA memcpy Host-to-Device]"));
  EXPECT_EQ(trace->spans[4].duration_ns, 20);
  EXPECT_EQ(trace->spans[4].graph_node, 9u);
  EXPECT_EQ(trace->spans[2].start_ns, 300);
  EXPECT_EQ(trace->spans[2].duration_ns, 150);
  EXPECT_EQ(trace->spans[2].graph_node, 7u);
  EXPECT_EQ(trace->FindCommand(trace->spans[2]), nullptr);
  auto rest = (*profiler)->Stop();
  ASSERT_TRUE(rest.ok());
  EXPECT_THAT(rest->spans, IsEmpty());
}

TEST(KernelProfilerTest, NodesOfGraphsHaveTheCommandThatMadeThem) {
  auto profiler = KernelProfiler::Create();
  ASSERT_TRUE(profiler.ok()) << profiler.status();
  CommandInfo gemm = {.index = 4, .entry = "train", .name = "gemm_w2", .source = "layers.1.ffn.w2", .flops = 8};
  CommandInfo norm = {.index = 5, .entry = "train", .name = "mul_c522", .source = "ln_final"};
  {
    CommandScope scope(gemm);
    FakeCuptiCreateNode(1); // A GEMM of two kernels.
    FakeCuptiCreateNode(2);
    CommandScope inner(norm);
    FakeCuptiCreateNode(3);
  }
  FakeCuptiCreateNode(4); // Outside of commands.
  for (uint64_t node : {1, 2, 3, 4})
    FakeCuptiCloneNode(node, node + 10);
  for (int step = 0; step != 2; ++step) {
    ASSERT_TRUE((*profiler)->Start().ok()); // Commands outlive the spans.
    for (uint64_t node : {11, 12, 13, 14})
      FakeCuptiKernel("k", node, node + 1, node);
    FakeCuptiKernel("k", 20, 21, 0);
    auto trace = (*profiler)->Stop();
    ASSERT_TRUE(trace.ok()) << trace.status();
    std::vector<std::string> sources;
    for (const TraceSpan &span : trace->spans)
      sources.push_back(trace->FindCommand(span) ? trace->FindCommand(span)->source : "");
    EXPECT_THAT(sources, ElementsAre("layers.1.ffn.w2", "layers.1.ffn.w2", "ln_final", "", ""));
    EXPECT_EQ(trace->FindCommand(trace->spans[0])->index, 4);
    EXPECT_EQ(trace->FindCommand(trace->spans[0])->flops, 8);
  }
}

TEST(KernelProfilerTest, ThereIsOneAtATime) {
  auto first = KernelProfiler::Create();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(FakeCuptiEnabledKinds(), 4);
  EXPECT_EQ(FakeCuptiEnabledCallbacks(), 2);
  EXPECT_EQ(KernelProfiler::Create().status().code(), absl::StatusCode::kAlreadyExists);
  first->reset();
  EXPECT_EQ(FakeCuptiEnabledKinds(), 0);
  EXPECT_EQ(FakeCuptiEnabledCallbacks(), 0);
  EXPECT_TRUE(KernelProfiler::Create().ok());
}

TEST(KernelProfilerTest, KernelsOutsideOfAProfileAreNotTimed) {
  auto profiler = KernelProfiler::Create();
  ASSERT_TRUE(profiler.ok()) << profiler.status();
  for (int profile = 0; profile != 2; ++profile) {
    ASSERT_TRUE((*profiler)->Start().ok());
    EXPECT_EQ(FakeCuptiEnabledKinds(), 4);
    FakeCuptiKernel("inside", 10, 20, 7);
    auto trace = (*profiler)->Stop();
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(Names(*trace), ElementsAre("inside"));
    EXPECT_EQ(FakeCuptiEnabledKinds(), 0);
    EXPECT_EQ(FakeCuptiEnabledCallbacks(), 2); // Graphs that are captured now have commands in the next profile.
    FakeCuptiKernel("outside", 30, 40, 7);
  }
}

TEST(KernelProfilerTest, PartsOfAProfileHaveTheSameCommandsAndNames) {
  auto profiler = KernelProfiler::Create();
  ASSERT_TRUE(profiler.ok()) << profiler.status();
  ASSERT_TRUE((*profiler)->Start().ok());
  FakeCuptiKernel("first", 10, 20, 7);
  auto part = (*profiler)->Take();
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(Names(*part), ElementsAre("first"));
  EXPECT_EQ(FakeCuptiEnabledKinds(), 4); // The profile goes on.
  EXPECT_EQ((*profiler)->CountSpans(), 0);
  FakeCuptiKernel("second", 30, 40, 7);
  FakeCuptiKernel("first", 50, 60, 7);
  auto rest = (*profiler)->Stop();
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_THAT(Names(*rest), ElementsAre("second", "first"));
  EXPECT_THAT(rest->names, ElementsAre("first", "second"));
}

TEST(KernelProfilerTest, AProfilerThatCannotBeSwitchedOnAgainFails) {
  auto profiler = KernelProfiler::Create();
  ASSERT_TRUE(profiler.ok()) << profiler.status();
  ASSERT_TRUE((*profiler)->Stop().ok());
  FakeCuptiFailEnable(cupti::kMultipleSubscribers);
  EXPECT_EQ((*profiler)->Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE((*profiler)->Start().ok());
  EXPECT_EQ(FakeCuptiEnabledKinds(), 4);
}

TEST(KernelProfilerTest, LostRecordsAreAnError) {
  auto profiler = KernelProfiler::Create();
  ASSERT_TRUE(profiler.ok()) << profiler.status();
  ASSERT_TRUE((*profiler)->Start().ok());
  FakeCuptiDrop(12);
  auto records = (*profiler)->Stop();
  EXPECT_EQ(records.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(records.status().message()), HasSubstr("dropped 12 records"));
}

TEST(KernelProfilerTest, AnotherToolIsNamed) {
  FakeCuptiFailEnable(cupti::kMultipleSubscribers);
  absl::Status status = KernelProfiler::Create().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cuptiActivityEnable: FAKE_39"));
  EXPECT_TRUE(KernelProfiler::Create().ok());
}

TEST(KernelProfilerTest, NoLibraryIsAnAnswer) {
  absl::Status status = KernelProfiler::Create("libcupti-missing.so.13").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nvidia-cuda-cupti"));
}

} // namespace
} // namespace cs336::runtime
