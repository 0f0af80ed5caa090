//===- AvailableMemoryTest.cpp - Memory within control groups -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/AvailableMemory.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace cs336::runtime {
namespace {

/// A folder with the files of a system that has 8 GiB.
class AvailableMemoryTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(root.data()), nullptr);
    Write("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n");
  }

  void TearDown() override { std::filesystem::remove_all(root); }

  void Write(const std::string &path, const std::string &text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  void WriteGroup1(const std::string &group, int64_t limit, int64_t usage, int64_t cache) {
    std::string folder = "/sys/fs/cgroup/memory" + group;
    Write(folder + "/memory.limit_in_bytes", std::to_string(limit) + "\n");
    Write(folder + "/memory.usage_in_bytes", std::to_string(usage) + "\n");
    Write(folder + "/memory.stat", "cache 1\ntotal_inactive_file " + std::to_string(cache) + "\n");
  }
  void WriteGroup2(const std::string &group, const std::string &limit, int64_t usage, int64_t cache) {
    std::string folder = "/sys/fs/cgroup" + group;
    Write(folder + "/memory.max", limit + "\n");
    Write(folder + "/memory.current", std::to_string(usage) + "\n");
    Write(folder + "/memory.stat", "anon 5\ninactive_file " + std::to_string(cache) + "\n");
  }

  std::string root = ::testing::TempDir() + "/cs336-system-XXXXXX";
};

TEST_F(AvailableMemoryTest, IsThatOfTheHostWithoutGroups) {
  EXPECT_EQ(AvailableMemoryOf(root), int64_t{8} << 30);
  Write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(AvailableMemoryOf(root), int64_t{8} << 30);
  EXPECT_EQ(AvailableMemoryOf(root + "/none"), INT64_MAX);
}

TEST_F(AvailableMemoryTest, IsTheLeastOfAllGroupsAroundTheProcess) {
  Write("/proc/self/cgroup", "0::/user.slice/run-1.scope\n");
  WriteGroup2("/user.slice/run-1.scope", "max", 300, 0);
  WriteGroup2("/user.slice", "5000", 1000, 200);
  WriteGroup2("/system.slice", "10", 0, 0); // Another one.
  EXPECT_EQ(AvailableMemoryOf(root), 4200);
  WriteGroup2("/user.slice/run-1.scope", "1000", 300, 50);
  EXPECT_EQ(AvailableMemoryOf(root), 750);
  WriteGroup2("/user.slice/run-1.scope", "1000", 1300, 50);
  EXPECT_EQ(AvailableMemoryOf(root), 0);
}

TEST_F(AvailableMemoryTest, AContainerSeesItsGroupAsTheRoot) {
  Write("/proc/self/cgroup", "0::/docker/0e5f\n");
  WriteGroup2("", "9000", 1000, 0);
  EXPECT_EQ(AvailableMemoryOf(root), 8000);
}

TEST_F(AvailableMemoryTest, ReadsGroupsOfVersion1) {
  Write("/proc/self/cgroup", "9:name=systemd:/\n5:cpu,memory:/job/7\n3:cpuset:/other\n0::/\n");
  WriteGroup1("/other", 10, 0, 0);
  EXPECT_EQ(AvailableMemoryOf(root), int64_t{8} << 30);
  WriteGroup1("/job/7", 700, 100, 20);
  EXPECT_EQ(AvailableMemoryOf(root), 620);
  WriteGroup1("/job", 600, 200, 0);
  EXPECT_EQ(AvailableMemoryOf(root), 400);
}

TEST_F(AvailableMemoryTest, SkipsLinesThatAreNoGroups) {
  Write("/proc/self/cgroup", "memory\n0:\n:::::\n0::nowhere\n");
  EXPECT_EQ(AvailableMemoryOf(root), int64_t{8} << 30);
}

} // namespace
} // namespace cs336::runtime
