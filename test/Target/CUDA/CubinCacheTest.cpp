//===- CubinCacheTest.cpp - Compiled kernels kept on disk -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/NVRTC/CubinCache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cs336 {
namespace {

using testing::HasSubstr;
namespace fs = llvm::sys::fs;

/// An image with every byte value, zeros and newlines among them.
Cubin MakeCubin(size_t bytes = 5000) {
  Cubin cubin{"sm_90a", {}, {{"partial_sums", 32, 0}, {"sum", 255, 16}}};
  for (size_t i = 0; i < bytes; ++i)
    cubin.image.push_back(static_cast<char>(i * 7));
  return cubin;
}

class CubinCacheTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(fs::createUniqueDirectory("cubin-cache", folder)); }
  void TearDown() override { fs::remove_directories(folder); }

  /// Paths of all files of the cache.
  std::vector<std::string> Files(llvm::StringRef cacheFolder) {
    std::vector<std::string> files;
    std::error_code error;
    for (fs::directory_iterator it(cacheFolder, error), end; !error && it != end; it.increment(error))
      files.push_back(it->path());
    return files;
  }

  llvm::SmallString<128> folder;
};

/// Empty for success.
std::string Message(llvm::Error error) { return llvm::toString(std::move(error)); }

std::string Read(const std::string &path) { return (*llvm::MemoryBuffer::getFile(path))->getBuffer().str(); }

void Write(const std::string &path, llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  ASSERT_FALSE(error);
  stream << bytes;
}

void ExpectEqual(const Cubin &actual, const Cubin &wanted) {
  EXPECT_EQ(actual.architecture, wanted.architecture);
  EXPECT_EQ(actual.image, wanted.image);
  ASSERT_EQ(actual.kernels.size(), wanted.kernels.size());
  for (size_t i = 0; i < wanted.kernels.size(); ++i) {
    EXPECT_EQ(actual.kernels[i].name, wanted.kernels[i].name);
    EXPECT_EQ(actual.kernels[i].registers, wanted.kernels[i].registers);
    EXPECT_EQ(actual.kernels[i].spilledBytes, wanted.kernels[i].spilledBytes);
  }
}

TEST_F(CubinCacheTest, FindsWhatWasStoredAndNothingElse) {
  CubinCache cache(folder);
  EXPECT_FALSE(cache.find("0a1b"));
  ASSERT_EQ(Message(cache.store("0a1b", MakeCubin())), "");
  std::optional<Cubin> found = CubinCache(folder).find("0a1b");
  ASSERT_TRUE(found);
  ExpectEqual(*found, MakeCubin());
  EXPECT_FALSE(cache.find("0a1c"));
}

TEST_F(CubinCacheTest, TakesNoDamagedEntryAndReplacesIt) {
  CubinCache cache(folder);
  ASSERT_EQ(Message(cache.store("key", MakeCubin())), "");
  std::string file = Files(cache.getFolder()).at(0);
  std::string intact = Read(file);
  for (size_t size : {size_t(0), size_t(5), size_t(20), size_t(40), intact.size() / 2, intact.size() - 1}) {
    Write(file, llvm::StringRef(intact).take_front(size));
    EXPECT_FALSE(cache.find("key")) << "cut to " << size << " bytes";
  }
  for (size_t position = 0; position < intact.size(); position += 97) {
    std::string flipped = intact;
    flipped[position] ^= 1;
    Write(file, flipped);
    EXPECT_FALSE(cache.find("key")) << "byte " << position << " flipped";
  }
  Write(file, intact + "x");
  EXPECT_FALSE(cache.find("key"));

  ASSERT_EQ(Message(cache.store("key", MakeCubin())), "");
  EXPECT_TRUE(cache.find("key"));
}

TEST_F(CubinCacheTest, TakesNoEntryUnderTheNameOfAnother) {
  CubinCache cache(folder);
  ASSERT_EQ(Message(cache.store("aaaa", MakeCubin(10))), "");
  std::string file = Files(cache.getFolder()).at(0), other = file.substr(0, file.size() - 4) + "bbbb";
  Write(other, Read(file));
  EXPECT_TRUE(cache.find("aaaa"));
  EXPECT_FALSE(cache.find("bbbb"));
}

TEST_F(CubinCacheTest, TakesRegularFilesAloneAndWaitsForNone) {
  CubinCache cache(folder);
  ASSERT_EQ(Message(cache.store("key", MakeCubin())), "");
  std::string file = Files(cache.getFolder()).at(0);
  ASSERT_EQ(rename(file.c_str(), (folder + "/entry").str().c_str()), 0);
  ASSERT_EQ(symlink((folder + "/entry").str().c_str(), file.c_str()), 0);
  EXPECT_FALSE(cache.find("key")) << "a link";
  ASSERT_EQ(Message(cache.store("key", MakeCubin())), "");
  EXPECT_TRUE(cache.find("key")) << "the link is replaced";
  ASSERT_EQ(unlink(file.c_str()), 0);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(cache.find("key")) << "a pipe";
  EXPECT_THAT(Message(cache.store("key", MakeCubin())), HasSubstr("not a regular file"));
  // Pruning notes its time in a file.
  std::string timestamp = (cache.getFolder() + "/llvmcache.timestamp").str();
  ASSERT_EQ(mkfifo(timestamp.c_str(), 0600), 0);
  const struct timespec longAgo[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, timestamp.c_str(), longAgo, 0), 0);
  cache.prune();
}

TEST_F(CubinCacheTest, AFolderThatAllMayWriteToIsNotUsed) {
  CubinCache cache(folder);
  ASSERT_EQ(Message(cache.store("key", MakeCubin())), "");
  ASSERT_EQ(chmod(cache.getFolder().str().c_str(), 0777), 0);
  EXPECT_FALSE(cache.find("key"));
  EXPECT_THAT(Message(cache.store("key", MakeCubin())), HasSubstr("run 'chmod o-w "));
}

TEST_F(CubinCacheTest, ReadersSeeWholeEntriesWhileProcessesWrite) {
  CubinCache cache(folder);
  ASSERT_EQ(Message(cache.store("shared", MakeCubin(100000))), "");
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    pid_t id = fork();
    ASSERT_GE(id, 0);
    if (id == 0) {
      for (int i = 0; i < 50; ++i) {
        if (!Message(cache.store("shared", MakeCubin(100000))).empty())
          _exit(1);
        if (!cache.find("shared"))
          _exit(2);
      }
      _exit(0);
    }
    children.push_back(id);
  }
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(cache.find("shared"));
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Files(cache.getFolder()).size(), 1u) << "temporary files were left behind";
}

TEST_F(CubinCacheTest, AFolderThatCannotBeMadeIsAnError) {
  Write((folder + "/file").str(), "not a folder");
  CubinCache cache((folder + "/file").str());
  EXPECT_FALSE(cache.find("key"));
  EXPECT_THAT(Message(cache.store("key", MakeCubin())), HasSubstr("cannot write to '"));
  cache.prune();
}

TEST_F(CubinCacheTest, AFullDiskIsAnErrorAndLeavesNothing) {
  CubinCache cache(folder);
  ASSERT_EQ(Message(cache.store("small", MakeCubin(10))), "");
  // A limit on the size of files makes writing stop halfway, as a full disk does.
  rlimit previous;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &previous), 0);
  auto *handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited{4096, previous.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  llvm::Error error = cache.store("large", MakeCubin(100000));
  setrlimit(RLIMIT_FSIZE, &previous);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(Message(std::move(error)), HasSubstr("File too large"));
  EXPECT_FALSE(cache.find("large"));
  EXPECT_EQ(Files(cache.getFolder()).size(), 1u);
}

TEST_F(CubinCacheTest, PruningKeepsTheFolderBelowItsBound) {
  CubinCache cache(folder, /*maxBytes=*/64 << 10);
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(Message(cache.store(std::to_string(i), MakeCubin(10000))), "");
  cache.prune();
  uint64_t bytes = 0;
  for (const std::string &file : Files(cache.getFolder())) {
    uint64_t size = 0;
    ASSERT_FALSE(fs::file_size(file, size));
    bytes += size;
  }
  EXPECT_LE(bytes, 64u << 10);
  EXPECT_GT(bytes, 32u << 10) << "more was removed than needed";
}

TEST(CubinCacheKeyTest, DependsOnCodeAndArchitecture) {
  llvm::Expected<NVRTC> compiler = NVRTC::load();
  if (!compiler)
    GTEST_SKIP() << llvm::toString(compiler.takeError());
  std::string key = CubinCache::getKey(*compiler, "text", "sm_90a");
  EXPECT_EQ(key, CubinCache::getKey(*compiler, "text", "sm_90a"));
  EXPECT_NE(key, CubinCache::getKey(*compiler, "text ", "sm_90a"));
  EXPECT_NE(key, CubinCache::getKey(*compiler, "text", "sm_90"));
  EXPECT_EQ(key, CubinCache::getKey(*compiler, "// Launched for layers.3\ntext", "sm_90a"));
}

} // namespace
} // namespace cs336
