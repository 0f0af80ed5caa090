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

namespace cs336::bench::published_figures_test {

namespace json = llvm::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// A step of size `size`. Its time is empty if memory did not suffice.
struct Step {
  std::string size;
  int64_t context;
  std::string fusion;
  std::optional<double> mean;
  int64_t batch = 4, warmup = 5;
  std::string mode = "forward";
};

Report makeReport(std::vector<Step> steps, json::Object device) {
  std::vector<Column<Step>> columns{
      {"size", "size", [](const Step &step) { return Cell(step.size); }, Show::Setting},
      {"batch", "batch_size", [](const Step &step) { return Cell::integer(step.batch); }, Show::OnRequest,
       Role::Setting},
      {"context", "context_length", [](const Step &step) { return Cell::integer(step.context); }, Show::Setting},
      {"mode", "mode", [](const Step &step) { return Cell(step.mode); }, Show::Setting},
      {"dtype", "dtype", [](const Step &) { return Cell(std::string("fp32")); }, Show::Setting},
      {"warm-up", "warmup", [](const Step &step) { return Cell::integer(step.warmup); }, Show::Setting},
      {"fusion", "fusion", [](const Step &step) { return Cell(step.fusion); }, Show::Setting},
      {"mean (ms)", "mean_ms",
       [](const Step &step) { return step.mean ? Cell::number(step.mean, 3) : Cell::note("OOM"); }},
      {"total (MiB)", "total_mib", [](const Step &) { return Cell::number(40960, 1); }}};
  return {json::Object{{"device", std::move(device)}}, {Table("model", "", columns, llvm::ArrayRef(steps))}, {}};
}

Report makeReport(std::vector<Step> steps) {
  return makeReport(std::move(steps), json::Object{{"kind", "cuda"}, {"processor", "znver4"}, {"gpu", "NVIDIA H200"}});
}

std::string printTable(llvm::StringRef study, const Report &report) {
  std::optional<Table> table = makePublishedTable(study, report);
  return table ? print({{}, {*table}, {}}, Format::CSV) : "none";
}

TEST(PublishedFiguresTest, FiguresStandBesideThoseOfEqualSettings) {
  EXPECT_EQ(printTable("benchmarking_script", makeReport({{"small", 512, "none", 7.125},
                                                          {"small", 512, "all", 3.5},
                                                          {"xl", 128, "all", 20},
                                                          {"small", 2048, "all", 9}})),
            "size,batch_size,context_length,mode,dtype,warmup,fusion,figure,published,published_on,measured,"
            "measured_on,source,remark\n"
            "small,4,512,forward,fp32,5,none,mean (ms),18,\"RTX 5090, 32 GB\",7.125,NVIDIA H200,"
            "github.com/luke396/assignment2-systems,\n"
            "small,4,512,forward,fp32,5,all,mean (ms),18,\"RTX 5090, 32 GB\",3.500,NVIDIA H200,"
            "github.com/luke396/assignment2-systems,\n"
            "xl,4,128,forward,fp32,5,all,mean (ms),65,\"RTX 5090, 32 GB\",20.000,NVIDIA H200,"
            "github.com/luke396/assignment2-systems,\n");
}

TEST(PublishedFiguresTest, OtherSettingsHaveNone) {
  EXPECT_EQ(printTable("benchmarking_script", makeReport({{"small", 64, "none", 7}})), "none");
  EXPECT_EQ(printTable("benchmarking_script", makeReport({{"small", 512, "none", 7, 1}})), "none");
  EXPECT_EQ(printTable("benchmarking_script", makeReport({{"small", 512, "none", 7, 4, 2}})), "none");
  EXPECT_EQ(printTable("flash_benchmarking", makeReport({{"small", 512, "none", 7}})), "none");
  EXPECT_EQ(printTable("benchmarking_script", makeReport({{"small", 512, "none", std::nullopt}})), "none");
  EXPECT_EQ(printTable("benchmarking_script", makeReport({})), "none");
}

TEST(PublishedFiguresTest, WarmUpsAreSettings) {
  std::string table = printTable("benchmarking_script",
                                 makeReport({{"2.35B", 256, "none", 21, 4, 0}, {"2.35B", 256, "none", 20, 4, 5}}));
  EXPECT_THAT(table, HasSubstr(",0,none,mean (ms),548.18,not stated,21.000,"));
  EXPECT_THAT(table, HasSubstr(",5,none,mean (ms),458.62,not stated,20.000,"));
}

TEST(PublishedFiguresTest, MeasuredValuesAreInTheUnitOfTheFigure) {
  // A sum of ten steps, and GiB.
  EXPECT_THAT(printTable("benchmarking_script", makeReport({{"2.7B", 256, "none", 40.25}})),
              HasSubstr(",sum of 10 steps (ms),4169,A100,402.5,NVIDIA H200,"));
  EXPECT_THAT(printTable("memory_profiling", makeReport({{"xl", 256, "none", 1}})),
              HasSubstr(",peak memory (GiB),20,\"A100, 40 GB\",40,NVIDIA H200,github.com/yyin-dev/cs336-a2,"
                        "its G taken as 2^30 bytes\n"));
}

TEST(PublishedFiguresTest, AHostWithoutAGPUIsNamed) {
  EXPECT_THAT(printTable("benchmarking_script", makeReport({{"medium", 512, "none", 700}},
                                                           json::Object{{"kind", "cpu"}, {"processor", "znver4"}})),
              HasSubstr(",50,\"RTX 5090, 32 GB\",700.000,znver4,"));
}

TEST(PublishedFiguresTest, StudiesWithFiguresAreListedOnce) {
  EXPECT_THAT(getPublishedStudies(), Contains("memory_profiling").Times(1));
  EXPECT_THAT(getPublishedStudies(), Not(Contains("fsdp")));
}

} // namespace cs336::bench::published_figures_test
