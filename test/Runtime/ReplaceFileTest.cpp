//===- ReplaceFileTest.cpp - Replacing files atomically -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/ReplaceFile.h"

#include "absl/strings/str_cat.h"

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cs336::runtime::replace_file_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string ReadText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteText(const std::string &path, const std::string &text) { std::ofstream(path, std::ios::binary) << text; }

mode_t PermissionsOf(const std::string &path) {
  struct stat info = {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

/// Runs `body` in a process of its own. Returns its status in the form of
/// waitpid.
template <typename Body>
int RunInChild(Body body) {
  pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

class ReplaceFileTest : public ::testing::Test {
protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder))
      names.insert(entry.path().filename().string());
    return names;
  }

  /// Creates the temporary file of a killed writer of `path`.
  void KillWriter() const {
    int status = RunInChild([&] {
      (void)ReplaceFile(path, [](const TemporaryFile &file) {
        (void)WriteBytes(file.descriptor, "half");
        raise(SIGKILL);
        return absl::OkStatus();
      });
    });
    ASSERT_TRUE(WIFSIGNALED(status));
  }

  std::string folder = absl::StrCat(::testing::TempDir(), "replace_file_", getpid());
  std::string path = folder + "/file";
};

TEST_F(ReplaceFileTest, WritesAllPieces) {
  std::string large(1 << 20, 'x');
  ASSERT_TRUE(ReplaceFile(path, {"one, ", "", "two", large}).ok());
  EXPECT_EQ(ReadText(path), "one, two" + large);
  ASSERT_TRUE(ReplaceFile(path, {"three"}, {.durable = false}).ok());
  EXPECT_EQ(ReadText(path), "three");
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(ReplaceFileTest, FindsAPathWithoutAFolder) {
  fs::path before = fs::current_path();
  fs::current_path(folder);
  absl::Status status = ReplaceFile("file", {"here"});
  fs::current_path(before);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(ReadText(path), "here");
}

TEST_F(ReplaceFileTest, ANewFileHasThePermissionsOfTheUmask) {
  mode_t before = umask(027);
  absl::Status status = ReplaceFile(path, {"new"});
  umask(before);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(PermissionsOf(path), 0640u);
}

TEST_F(ReplaceFileTest, KeepsThePermissionsOfTheOldFileFromTheStart) {
  for (mode_t permissions : {0600u, 0666u, 0755u, 0400u}) {
    WriteText(path, "old");
    ASSERT_EQ(chmod(path.c_str(), permissions), 0);
    absl::Status status = ReplaceFile(path, [&](const TemporaryFile &file) {
      EXPECT_EQ(PermissionsOf(file.path), permissions);
      return WriteBytes(file.descriptor, "new");
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(PermissionsOf(path), permissions);
    EXPECT_EQ(ReadText(path), "new");
    fs::remove(path);
  }
}

TEST_F(ReplaceFileTest, ReplacesALinkAndNotWhatItNames) {
  std::string other = folder + "/other";
  WriteText(other, "precious");
  fs::create_symlink(other, path);
  ASSERT_TRUE(ReplaceFile(path, {"new"}).ok());
  EXPECT_EQ(ReadText(other), "precious");
  EXPECT_FALSE(fs::is_symlink(path));
  EXPECT_EQ(ReadText(path), "new");
}

TEST_F(ReplaceFileTest, AnErrorKeepsTheOldFile) {
  WriteText(path, "old");
  absl::Status status = ReplaceFile(path, [](const TemporaryFile &file) {
    (void)WriteBytes(file.descriptor, "half");
    return absl::DataLossError("stop");
  });
  EXPECT_EQ(status, absl::DataLossError("stop"));
  EXPECT_EQ(ReadText(path), "old");
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(ReplaceFileTest, AnExceptionKeepsTheOldFile) {
  WriteText(path, "old");
  auto fail = [](const TemporaryFile &) -> absl::Status { throw std::bad_alloc(); };
  EXPECT_THROW((void)ReplaceFile(path, fail), std::bad_alloc);
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(ReplaceFileTest, AFullDiskKeepsTheOldFile) {
  WriteText(path, "old");
  int status = RunInChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1 << 12, 1 << 12};
    setrlimit(RLIMIT_FSIZE, &limit);
    absl::Status written = ReplaceFile(path, {std::string(1 << 16, 'x')});
    _exit(written.code() == absl::StatusCode::kUnavailable ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ReadText(path), "old");
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(ReplaceFileTest, RemovesWhatAKilledWriterLeft) {
  WriteText(path, "old");
  KillWriter();
  KillWriter();
  EXPECT_EQ(ReadText(path), "old");
  // The second killed writer removed the file of the first one.
  EXPECT_THAT(Names(), SizeIs(2));
  ASSERT_TRUE(ReplaceFile(path, {"new"}).ok());
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(ReplaceFileTest, LeavesTheTemporaryFileOfALiveWriter) {
  absl::Status status = ReplaceFile(path, [&](const TemporaryFile &file) {
    EXPECT_TRUE(ReplaceFile(path, {"inner"}).ok());
    EXPECT_EQ(ReadText(path), "inner");
    EXPECT_TRUE(fs::exists(file.path));
    return WriteBytes(file.descriptor, "outer");
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(ReadText(path), "outer");
}

TEST_F(ReplaceFileTest, LeavesFilesThatAreNotItsOwn) {
  const std::set<std::string> others = {
      "file.tmp",                  // No digits,
      "file.0123456789abcde.tmp",  // too few,
      "file.0123456789ABCDEF.tmp", // other ones,
      "file2.0123456789abcdef.tmp" // another file's.
  };
  for (const std::string &other : others)
    WriteText(folder + "/" + other, "");
  std::set<std::string> kept = others;
  fs::create_symlink("file.tmp", folder + "/file.0000000000000000.tmp");
  fs::create_directory(folder + "/file.0000000000000001.tmp");
  ASSERT_EQ(mkfifo((folder + "/file.0000000000000002.tmp").c_str(), 0600), 0);
  for (char digit : {'0', '1', '2'})
    kept.insert(absl::StrCat("file.000000000000000", std::string(1, digit), ".tmp"));
  kept.insert("file");
  ASSERT_TRUE(ReplaceFile(path, {"new"}).ok());
  EXPECT_EQ(Names(), kept);
}

TEST_F(ReplaceFileTest, TakesTheLongestName) {
  path = folder + "/" + std::string(255, 'n');
  KillWriter();
  ASSERT_TRUE(ReplaceFile(path, {"new"}).ok());
  EXPECT_EQ(ReadText(path), "new");
  EXPECT_THAT(Names(), SizeIs(1));
}

TEST_F(ReplaceFileTest, RefusesWhatIsNoFile) {
  auto code = [](absl::string_view path) { return ReplaceFile(path, {"x"}).code(); };
  EXPECT_EQ(code(""), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(folder), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(folder + "/"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(folder + "/.."), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("/dev/null"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(folder + "/none/file"), absl::StatusCode::kNotFound);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(code(path), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(ReplaceFileTest, RefusesANulInThePath) {
  absl::Status status = ReplaceFile(absl::string_view("a\0b", 3), {"x"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'a\\000b'"));
  EXPECT_FALSE(fs::exists("a"));
}

/// Writers of one path: threads of two processes, as in two containers that share a folder.
TEST_F(ReplaceFileTest, ConcurrentWritersNeverFailAndReadersSeeWholeFiles) {
  constexpr int kThreads = 4, kWrites = 50;
  constexpr size_t kBytes = 20000;
  auto write_all = [&](char first) {
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t != kThreads; ++t)
      threads.emplace_back([&, t] {
        std::string text(kBytes, static_cast<char>(first + t));
        for (int i = 0; i != kWrites; ++i)
          failures += !ReplaceFile(path, {text}, {.durable = false}).ok();
      });
    for (std::thread &thread : threads)
      thread.join();
    return failures.load();
  };
  pid_t child = fork();
  if (child == 0)
    _exit(write_all('a'));
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      std::string text = ReadText(path);
      EXPECT_EQ(text, std::string(text.empty() ? 0 : kBytes, text[0])); // Empty before the first write.
    }
  });
  EXPECT_EQ(write_all('A'), 0);
  int status = 0;
  waitpid(child, &status, 0);
  done = true;
  reader.join();
  EXPECT_EQ(status, 0);
  EXPECT_THAT(Names(), ElementsAre("file"));
}

} // namespace
} // namespace cs336::runtime::replace_file_test
