//===- CacheFolderTest.cpp - The folder of cached results -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/CacheFolder.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cs336::runtime::cache_folder_test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kMost = 100;

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

/// Creates a folder with an entry "entry" of the bytes "contents".
class CacheFilesTest : public ::testing::Test {
protected:
  CacheFilesTest()
      : folder_(absl::StrCat(::testing::TempDir(), "cache-folder-", getpid(), "-",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
    EXPECT_TRUE(MakeCacheFolder(folder_).ok());
    std::ofstream(Path("entry")) << "contents";
  }
  ~CacheFilesTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string &name) const { return folder_ + "/" + name; }
  absl::StatusCode Read(const std::string &name) const { return ReadCacheFile(folder_, name, kMost).status().code(); }

  std::string folder_;
};

TEST_F(CacheFilesTest, AreReadAsTheyWereWritten) {
  EXPECT_EQ(*ReadCacheFile(folder_, "entry", kMost), "contents");
  EXPECT_EQ(Read("other"), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadCacheFile(folder_ + "/none", "entry", kMost).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CacheFilesTest, AreOfOneUserAlone) {
  ASSERT_TRUE(MakeCacheFolder(Path("a/b")).ok());
  EXPECT_TRUE(MakeCacheFolder(Path("a/b/")).ok()) << "it is there already";
  for (const char *name : {"", "a", "a/b"})
    EXPECT_EQ(fs::status(Path(name)).permissions(), fs::perms::owner_all) << name;
  EXPECT_THAT(std::string(MakeCacheFolder(Path("entry/b")).message()), HasSubstr("Not a directory"));
  EXPECT_THAT(std::string(MakeCacheFolder(Path("entry")).message()), HasSubstr("Not a directory"));
}

TEST_F(CacheFilesTest, AreNotReadWhereAllMayWrite) {
  EXPECT_TRUE(CheckCacheFolder(folder_).ok());
  EXPECT_TRUE(CheckCacheFolder(Path("none")).ok());
  fs::permissions(folder_, fs::perms::group_write, fs::perm_options::add);
  EXPECT_TRUE(CheckCacheFolder(folder_).ok());
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  absl::Status status = CheckCacheFolder(folder_);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("run 'chmod o-w ", folder_, "'")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("CS336_CACHE_DIR"));
  EXPECT_EQ(Read("entry"), absl::StatusCode::kPermissionDenied);
  // The sticky bit does not help either: names of entries can be predicted.
  fs::permissions(folder_, fs::perms::sticky_bit, fs::perm_options::add);
  EXPECT_EQ(Read("entry"), absl::StatusCode::kPermissionDenied);
}

TEST_F(CacheFilesTest, AreNotReadFromFoldersInItWhereAllMayWrite) {
  for (const char *name : {"executables", "cubins"}) {
    ASSERT_TRUE(MakeCacheFolder(Path(name)).ok());
    fs::permissions(Path(name), fs::perms::others_write, fs::perm_options::add);
    EXPECT_THAT(std::string(CheckCacheFolder(folder_).message()), HasSubstr(Path(name)));
    fs::remove(Path(name));
  }
}

TEST_F(CacheFilesTest, AreNotReadFromAnotherUser) {
  constexpr uid_t kOther = 12345;
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give a file to another user";
  ASSERT_EQ(chown(Path("entry").c_str(), kOther, -1), 0);
  EXPECT_EQ(Read("entry"), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(chown(folder_.c_str(), kOther, -1), 0);
  EXPECT_EQ(Read("entry"), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(CheckCacheFolder(folder_).message()), HasSubstr("belongs to user 12345"));
}

TEST_F(CacheFilesTest, AreRegularFiles) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  fs::create_symlink("entry", Path("link"));
  fs::create_symlink("/dev/zero", Path("zeros"));
  fs::create_directory(Path("folder"));
  std::ofstream(Path("large")) << std::string(kMost + 1, 'x');
  for (const char *name : {"pipe", "link", "zeros", "folder", "large"})
    EXPECT_FALSE(ReadCacheFile(folder_, name, kMost).ok()) << name;
}

TEST_F(CacheFilesTest, CountAsUsedWhenTheyAreRead) {
  const struct timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, Path("entry").c_str(), long_ago, 0), 0);
  ASSERT_EQ(Read("entry"), absl::StatusCode::kOk);
  struct stat info;
  ASSERT_EQ(stat(Path("entry").c_str(), &info), 0);
  EXPECT_GT(info.st_atime, 1000);
  EXPECT_EQ(info.st_mtime, 1000);
}

} // namespace
} // namespace cs336::runtime::cache_folder_test
