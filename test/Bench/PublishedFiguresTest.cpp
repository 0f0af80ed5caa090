//===- PublishedFiguresTest.cpp - Figures of published write-ups ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Published/PublishedFigures.h"

#include "LineWidths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench {
namespace {

namespace json = llvm::json;
using ::testing::HasSubstr;

json::Object describe(const char *key, const char *title, const char *role) {
  return json::Object{{"key", key}, {"title", title}, {"unit", nullptr}, {"role", role}};
}

json::Object makeRow(const char *size, int64_t context, const char *fusion, json::Value mean, int64_t batch = 4) {
  return json::Object{{"size", size},      {"batch_size", batch},       {"context_length", context},
                      {"mode", "forward"}, {"dtype", "fp32"},           {"warmup", 5},
                      {"fusion", fusion},  {"mean_ms", std::move(mean)}};
}

json::Object makeDocument(json::Array results) {
  json::Array columns{describe("size", "size", "setting"), describe("context_length", "context", "setting"),
                      describe("fusion", "fusion", "setting"), describe("mean_ms", "mean (ms)", "result")};
  return json::Object{{"device", json::Object{{"kind", "cuda"}, {"processor", "znver4"}, {"gpu", "NVIDIA H200"}}},
                      {"columns", std::move(columns)},
                      {"results", std::move(results)}};
}

TEST(PublishedFiguresTest, FiguresStandBesideThoseOfEqualSettings) {
  json::Object document =
      makeDocument(json::Array{makeRow("small", 512, "none", 7.125), makeRow("small", 512, "all", 3.5),
                               makeRow("xl", 128, "all", 20), makeRow("small", 1024, "all", 9)});
  std::optional<Table> table = makePublishedTable("benchmarking_script", document);
  ASSERT_TRUE(table);
  EXPECT_EQ(print({{}, {*table}, {}}, Format::CSV),
            "size,context_length,fusion,figure,published,published_on,measured,measured_on,source\n"
            "small,512,none,mean (ms),18,\"RTX 5090, 32 GB\",7.125,NVIDIA H200,github.com/luke396/assignment2-systems\n"
            "small,512,all,mean (ms),18,\"RTX 5090, 32 GB\",3.5,NVIDIA H200,github.com/luke396/assignment2-systems\n"
            "xl,128,all,mean (ms),65,\"RTX 5090, 32 GB\",20,NVIDIA H200,github.com/luke396/assignment2-systems\n");
}

TEST(PublishedFiguresTest, OtherSettingsHaveNone) {
  EXPECT_FALSE(makePublishedTable("benchmarking_script", makeDocument(json::Array{makeRow("small", 64, "none", 7)})));
  EXPECT_FALSE(
      makePublishedTable("benchmarking_script", makeDocument(json::Array{makeRow("small", 512, "none", 7, 1)})));
  EXPECT_FALSE(makePublishedTable("flash_benchmarking", makeDocument(json::Array{makeRow("small", 512, "none", 7)})));
  // Memory did not suffice.
  EXPECT_FALSE(
      makePublishedTable("benchmarking_script", makeDocument(json::Array{makeRow("small", 512, "none", nullptr)})));
  EXPECT_FALSE(makePublishedTable("benchmarking_script", json::Object()));
}

TEST(PublishedFiguresTest, AHostWithoutAGPUIsNamed) {
  json::Object document = makeDocument(json::Array{makeRow("medium", 512, "none", 700)});
  document["device"] = json::Object{{"kind", "cpu"}, {"processor", "znver4"}};
  EXPECT_THAT(print({{}, {*makePublishedTable("benchmarking_script", document)}, {}}, Format::CSV),
              HasSubstr(",50,\"RTX 5090, 32 GB\",700,znver4,"));
}

} // namespace
} // namespace cs336::bench
