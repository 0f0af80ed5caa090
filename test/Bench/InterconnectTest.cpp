//===- InterconnectTest.cpp - Predicted times of collectives --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Cost/DeviceModel.h"

#include <gtest/gtest.h>

namespace cs336::bench::interconnect_test {

/// 10 us to start; 1 us and 100 GB/s within hosts of 4 devices; 5 us and 20 GB/s between them.
constexpr Interconnect kLinks = {10e-6, {1e-6, 100e9}, {5e-6, 20e9}, 4};
constexpr int64_t kBytes = 800'000'000;

TEST(InterconnectTest, RingsHaveTheirStepsAndBytes) {
  EXPECT_EQ(getRingSteps(CollectiveKind::AllReduce, 8), 14);
  EXPECT_EQ(getRingSteps(CollectiveKind::AllGather, 8), 7);
  EXPECT_EQ(getRingSteps(CollectiveKind::ReduceScatter, 1), 0);
  EXPECT_EQ(getRingSteps(CollectiveKind::AllReduce, 1), 0);
  // 6 steps, and 2·3/4·800 MB = 1.2 GB at 100 GB/s.
  CollectiveTime time = kLinks.predict(CollectiveKind::AllReduce, {4}, kBytes);
  EXPECT_NEAR(time.start, 10e-6, 1e-12);
  EXPECT_NEAR(time.latency, 6e-6, 1e-12);
  EXPECT_NEAR(time.transfer, 12e-3, 1e-9);
  EXPECT_NEAR(time.getTotal(), 12.016e-3, 1e-9);
  EXPECT_NEAR(kLinks.predict(CollectiveKind::AllGather, {4}, kBytes).getTotal(), 6.013e-3, 1e-9);
  EXPECT_NEAR(kLinks.predict(CollectiveKind::Broadcast, {4}, kBytes).getTotal(), 8.013e-3, 1e-9);
  EXPECT_EQ(kLinks.predict(CollectiveKind::AllReduce, {1}, kBytes).getTotal(), 0);
}

TEST(InterconnectTest, HostsHaveARingOfTheirOwn) {
  // 16 ranks on 4 hosts: 6 steps on each link. 1.2 GB at 100 GB/s; 2·3/4·200 MB = 300 MB at 20 GB/s, which is longer.
  CollectiveTime time = kLinks.predict(CollectiveKind::AllReduce, {16}, kBytes);
  EXPECT_NEAR(time.latency, 36e-6, 1e-12);
  EXPECT_NEAR(time.transfer, 15e-3, 1e-9);
  // Half of the bytes of the all-reduce, in half of the steps.
  time = kLinks.predict(CollectiveKind::ReduceScatter, {16}, kBytes);
  EXPECT_NEAR(time.latency, 18e-6, 1e-12);
  EXPECT_NEAR(time.transfer, 7.5e-3, 1e-9);
  // 12/16 of 800 MB leave the host.
  EXPECT_NEAR(kLinks.predict(CollectiveKind::AllToAll, {16}, kBytes).transfer, 30e-3, 1e-9);
}

TEST(InterconnectTest, StridesSpreadGroupsOverHosts) {
  EXPECT_EQ(kLinks.getRanksPerHost({16, 1}), 4);
  EXPECT_EQ(kLinks.getRanksPerHost({16, 2}), 2);
  EXPECT_EQ(kLinks.getRanksPerHost({16, 8}), 1);
  EXPECT_EQ(kLinks.getRanksPerHost({3, 1}), 3);
  // 6 ranks take two hosts, with 3 on each.
  EXPECT_EQ(kLinks.getRanksPerHost({6, 1}), 3);
  // One rank per host: 30 steps and 1.5 GB on the network alone.
  CollectiveTime time = kLinks.predict(CollectiveKind::AllReduce, {16, 4}, kBytes);
  EXPECT_NEAR(time.latency, 150e-6, 1e-12);
  EXPECT_NEAR(time.transfer, 75e-3, 1e-9);
}

/// The measurements that the links of "h200" were fitted to, as in DeviceModel.cpp.
TEST(InterconnectTest, ThePredictionsOfH200sAreNearTheMeasurements) {
  struct Measurement {
    int64_t ranks, mebibytes;
    double busGigabytesPerSecond;
  };
  constexpr Measurement kMeasured[] = {{2, 1, 66},    {2, 4, 121},    {2, 8, 174}, {2, 32, 231}, {2, 128, 288},
                                       {2, 512, 316}, {2, 1024, 330}, {2, 1, 76},  {2, 4, 167},  {2, 8, 223},
                                       {2, 32, 231},  {2, 128, 298},  {4, 1, 79},  {4, 8, 211},  {4, 64, 304},
                                       {4, 256, 334}, {4, 1024, 352}};
  const Interconnect &links = findDeviceModel("h200")->interconnect;
  for (const Measurement &each : kMeasured) {
    int64_t bytes = each.mebibytes << 20;
    double measured = static_cast<double>(getRingBytes(CollectiveKind::AllReduce, each.ranks, bytes)) /
                      (each.busGigabytesPerSecond * 1e9);
    double ratio = links.predict(CollectiveKind::AllReduce, {each.ranks}, bytes).getTotal() / measured;
    bool isLarge = each.mebibytes > 32;
    EXPECT_GT(ratio, isLarge ? 0.97 : 0.77) << each.ranks << " ranks, " << each.mebibytes << " MiB";
    EXPECT_LT(ratio, isLarge ? 1.18 : 1.22) << each.ranks << " ranks, " << each.mebibytes << " MiB";
  }
}

} // namespace cs336::bench::interconnect_test
