//===- GemmTuningTest.cpp - GEMM algorithms stored on disk ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/GemmTuning.h"

#include "absl/strings/str_cat.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cs336::runtime::gemm_tuning_test {
namespace {

namespace fs = std::filesystem;

GemmChoice Choice(uint64_t number) { return {{number, ~uint64_t{0}, 0, 0, 0, 0, 0, number}, 1.5}; }

class GemmTuningTest : public ::testing::Test {
protected:
  GemmTuningTest()
      : folder_(absl::StrCat(::testing::TempDir(), "gemm-tuning-", getpid(), "-",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
  }
  ~GemmTuningTest() override { fs::remove_all(folder_); }

  GemmTuning Open(const std::string &device = "NVIDIA H200", int64_t version = 130100) {
    return GemmTuning(folder_, device, version);
  }

  std::string folder_;
};

TEST_F(GemmTuningTest, AnotherProcessFindsWhatOneAdded) {
  EXPECT_EQ(Open().Find("a"), absl::nullopt);
  Open().Settle("a", Choice(1));
  GemmTuning tuning = Open();
  EXPECT_EQ(tuning.Find("a"), Choice(1));
  EXPECT_EQ(tuning.Find("b"), absl::nullopt);
  EXPECT_EQ(fs::path(tuning.path()).filename(), "gemm-NVIDIA-H200-cublasLt-130100.json");
}

TEST_F(GemmTuningTest, DevicesAndLibrariesAreApart) {
  Open().Settle("a", Choice(1));
  EXPECT_EQ(Open("NVIDIA A100").Find("a"), absl::nullopt);
  EXPECT_EQ(Open("NVIDIA H200", 130200).Find("a"), absl::nullopt);
  // A file with this name that was written for another device.
  fs::copy_file(Open().path(), Open("NVIDIA H200", 130200).path());
  EXPECT_EQ(Open("NVIDIA H200", 130200).Find("a"), absl::nullopt);
}

TEST_F(GemmTuningTest, WhatOthersAddedMeanwhileStays) {
  GemmTuning first = Open(), second = Open();
  first.Settle("a", Choice(1));
  second.Settle("b", Choice(2));
  EXPECT_EQ(second.Find("a"), Choice(1));
  GemmTuning third = Open();
  EXPECT_EQ(third.Find("a"), Choice(1));
  EXPECT_EQ(third.Find("b"), Choice(2));
}

TEST_F(GemmTuningTest, TheFirstOfTwoThatTimedAProblemIsTaken) {
  GemmTuning first = Open(), second = Open();
  EXPECT_EQ(first.Settle("a", Choice(1)), Choice(1));
  EXPECT_EQ(second.Settle("a", Choice(2)), Choice(1));
  EXPECT_EQ(second.Find("a"), Choice(1));
}

TEST_F(GemmTuningTest, AChoiceThatTheLibraryNoLongerHasIsReplaced) {
  Open().Settle("a", Choice(1));
  GemmTuning tuning = Open();
  ASSERT_EQ(tuning.Find("a"), Choice(1));
  EXPECT_EQ(tuning.Settle("a", Choice(2)), Choice(2));
  EXPECT_EQ(Open().Find("a"), Choice(2));
}

TEST_F(GemmTuningTest, ThatNoAlgorithmWillDoIsRemembered) {
  EXPECT_FALSE(Choice(1).is_none());
  Open().Settle("a", GemmChoice());
  ASSERT_TRUE(Open().Find("a"));
  EXPECT_TRUE(Open().Find("a")->is_none());
}

TEST_F(GemmTuningTest, ManyProcessesLoseNothing) {
  constexpr int kProcesses = 6, kEach = 10;
  std::vector<pid_t> children;
  for (int process = 0; process != kProcesses; ++process) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      GemmTuning tuning = Open();
      for (int i = 0; i != kEach; ++i)
        tuning.Settle(absl::StrCat(process, ".", i), Choice(i));
      _exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  GemmTuning tuning = Open();
  for (int process = 0; process != kProcesses; ++process)
    for (int i = 0; i != kEach; ++i)
      EXPECT_EQ(tuning.Find(absl::StrCat(process, ".", i)), Choice(i)) << process << "." << i;
}

TEST_F(GemmTuningTest, ADamagedFileIsReplaced) {
  const std::string good = [&] {
    Open().Settle("a", Choice(1));
    std::ifstream file(Open().path());
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  auto replace = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const std::string &text :
       {std::string(), std::string("{"), std::string("[]"), std::string("\xff\xfe"), good.substr(0, good.size() / 2),
        replace("\"format\": 2", "\"format\": 1"), replace("\"format\": 2", "\"format\": {}"),
        replace("\"problems\"", "\"other\""), replace("\"algorithm\"", "\"other\""), replace("1.5", "\"fast\""),
        replace("0,", "-1,"), replace("0,", ""), replace("0,", "{},"), replace("0,", "0.5,"),
        // A valid choice of another problem, or a changed one.
        replace("\"a\": {", "\"c\": {"), replace(" 0,", " 2,"), replace("\"checksum\"", "\"other\"")}) {
    std::ofstream(Open().path(), std::ios::trunc) << text;
    EXPECT_EQ(Open().Find("a"), absl::nullopt) << text;
    Open().Settle("b", Choice(2));
    EXPECT_EQ(Open().Find("b"), Choice(2)) << text;
  }
}

TEST_F(GemmTuningTest, WhatStandsInPlaceOfAFileNeitherHangsNorCounts) {
  Open().Settle("a", Choice(1));
  std::string path = Open().path();
  fs::rename(path, folder_ + "/moved");
  fs::create_symlink("moved", path);
  EXPECT_EQ(Open().Find("a"), absl::nullopt) << "a link";
  for (const std::string &place : {path, path + ".lock"}) {
    fs::remove(place);
    ASSERT_EQ(mkfifo(place.c_str(), 0600), 0);
    GemmTuning tuning = Open();
    EXPECT_EQ(tuning.Find("a"), absl::nullopt) << place;
    EXPECT_EQ(tuning.Settle("a", Choice(2)), Choice(2)) << place;
  }
}

TEST_F(GemmTuningTest, AFolderThatAllMayWriteToIsNotUsed) {
  Open().Settle("a", Choice(1));
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  GemmTuning tuning = Open();
  EXPECT_EQ(tuning.path(), "");
  EXPECT_EQ(tuning.Find("a"), absl::nullopt);
  EXPECT_EQ(tuning.Settle("a", Choice(2)), Choice(2));
}

TEST_F(GemmTuningTest, WithoutAFileItRemembersInMemory) {
  std::ofstream(folder_) << "a file where the folder should be";
  GemmTuning unwritable = Open();
  unwritable.Settle("a", Choice(1));
  EXPECT_EQ(unwritable.Find("a"), Choice(1));
  EXPECT_EQ(Open().Find("a"), absl::nullopt);

  GemmTuning none("", "NVIDIA H200", 130100);
  none.Settle("a", Choice(1));
  EXPECT_EQ(none.Find("a"), Choice(1));
  EXPECT_EQ(none.path(), "");
}

} // namespace
} // namespace cs336::runtime::gemm_tuning_test
