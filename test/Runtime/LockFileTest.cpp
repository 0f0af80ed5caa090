//===- LockFileTest.cpp - A file that one process holds -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/LockFile.h"

#include "absl/strings/str_cat.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

namespace cs336::runtime::lock_file_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LockFileTest : public ::testing::Test {
protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string ReadText() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_ = absl::StrCat(::testing::TempDir(), "/lock_file_test.", getpid());
  std::string path_ = folder_ + "/lock";
};

TEST_F(LockFileTest, OneHolderAtATime) {
  {
    absl::StatusOr<LockFile> first = LockFile::TryLock(path_);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_THAT(ReadText(), StartsWith(absl::StrCat("process ", getpid(), " on ")));
    absl::StatusOr<LockFile> second = LockFile::TryLock(path_);
    EXPECT_TRUE(absl::IsAlreadyExists(second.status()));
    EXPECT_THAT(std::string(second.status().message()), StartsWith(absl::StrCat("process ", getpid(), " on ")));
    EXPECT_THAT(std::string(second.status().message()), HasSubstr(" holds the lock"));
    // A moved lock is held once.
    LockFile moved = *std::move(first);
    EXPECT_FALSE(LockFile::TryLock(path_).ok());
  }
  EXPECT_THAT(ReadText(), IsEmpty());
  EXPECT_TRUE(LockFile::TryLock(path_).ok());
}

TEST_F(LockFileTest, AKilledHolderDoesNotBlock) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    absl::StatusOr<LockFile> lock = LockFile::TryLock(path_);
    char ok = lock.ok() ? 'y' : 'n';
    (void)!write(ready[1], &ok, 1);
    pause();
    _exit(0);
  }
  char ok = 0;
  ASSERT_EQ(read(ready[0], &ok, 1), 1);
  EXPECT_EQ(ok, 'y');
  absl::Status refused = LockFile::TryLock(path_).status();
  EXPECT_TRUE(absl::IsAlreadyExists(refused));
  EXPECT_THAT(std::string(refused.message()), StartsWith(absl::StrCat("process ", child, " on ")));
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_THAT(ReadText(), HasSubstr(absl::StrCat(child)));
  absl::StatusOr<LockFile> lock = LockFile::TryLock(path_);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_THAT(ReadText(), StartsWith(absl::StrCat("process ", getpid())));
  close(ready[0]);
  close(ready[1]);
}

TEST_F(LockFileTest, Errors) {
  EXPECT_TRUE(absl::IsNotFound(LockFile::TryLock(folder_ + "/none/lock").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(LockFile::TryLock(std::string("a\0b", 3)).status()));
  // A link could lead out of the folder.
  std::filesystem::create_symlink(folder_ + "/other", path_);
  EXPECT_FALSE(LockFile::TryLock(path_).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/other"));
}

} // namespace
} // namespace cs336::runtime::lock_file_test
