//===- InputFileTest.cpp - Regular files opened for reading ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/InputFile.h"

#include "ProgramBuilder.h"
#include "cs336/runtime/Executable.h"
#include "cs336/runtime/TensorFile.h"

#include "absl/strings/str_cat.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace cs336::runtime::input_file_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::MakeTensor;

class InputFileTest : public ::testing::Test {
protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  void Write(const std::string &text) const { std::ofstream(path, std::ios::binary) << text; }

  std::string folder = absl::StrCat(::testing::TempDir(), "input_file_", getpid());
  std::string path = folder + "/file.safetensors";
};

TEST_F(InputFileTest, ReadsPieces) {
  Write("0123456789");
  auto file = InputFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 10);
  std::string text(4, '\0');
  ASSERT_TRUE(file->Read(3, 4, text.data()).ok());
  EXPECT_EQ(text, "3456");
  EXPECT_TRUE(file->Read(10, 0, nullptr).ok());
  EXPECT_TRUE(file->CheckUnchanged().ok());
}

TEST_F(InputFileTest, AFileThatShrinksIsAnError) {
  Write(std::string(1 << 20, 'x'));
  auto file = InputFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  fs::resize_file(path, 1000);
  std::string text(1 << 20, '\0');
  absl::Status status = file->Read(0, 1 << 20, text.data());
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1048576 bytes, and ends at 1000"));
  EXPECT_EQ(file->CheckUnchanged().code(), absl::StatusCode::kDataLoss);
}

TEST_F(InputFileTest, AFileThatIsWrittenToIsAnError) {
  Write("old text");
  auto file = InputFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  fs::last_write_time(path, fs::file_time_type::clock::now() + std::chrono::seconds(1));
  EXPECT_EQ(file->CheckUnchanged().code(), absl::StatusCode::kDataLoss);
}

TEST_F(InputFileTest, AFileThatIsReplacedIsReadAsItWas) {
  Write("old");
  auto file = InputFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  std::string other = folder + "/new";
  std::ofstream(other) << "other text";
  fs::rename(other, path);
  std::string text(3, '\0');
  EXPECT_TRUE(file->Read(0, 3, text.data()).ok());
  EXPECT_EQ(text, "old");
  EXPECT_TRUE(file->CheckUnchanged().ok());
}

/// Files without an end or without a writer: reading would not return.
TEST_F(InputFileTest, RefusesWhatIsNoRegularFile) {
  std::string pipe = folder + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string &other : {pipe, folder, std::string("/dev/zero"), std::string("/dev/null")}) {
    EXPECT_EQ(InputFile::Open(other).status().code(), absl::StatusCode::kInvalidArgument) << other;
    EXPECT_EQ(Executable::Load(other).status().code(), absl::StatusCode::kInvalidArgument) << other;
    std::string link = folder + "/link.npz";
    fs::remove(link);
    fs::create_symlink(other, link);
    EXPECT_EQ(ReadTensors(link).status().code(), absl::StatusCode::kInvalidArgument) << other;
  }
}

TEST_F(InputFileTest, RefusesANulInThePath) {
  Write("");
  std::string longer = path + std::string("\0.npz", 5);
  TensorMap tensors;
  tensors["x"] = MakeTensor<float>(DType::kF32, {1}, {1});
  for (const absl::Status &status : {InputFile::Open(longer).status(), ReadTensors(longer).status(),
                                     Executable::Load(longer).status(), WriteTensors(longer, tensors)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("NUL"));
  }
}

/// Tests that a file that is larger than any program is rejected without allocating
/// its size.
TEST_F(InputFileTest, AHugeFileIsNoExecutable) {
  Write("CS336X\r\n");
  fs::resize_file(path, uintmax_t{1} << 42);
  EXPECT_FALSE(Executable::Load(path).ok());
}

/// Tests truncation during a read. A mapped file would raise SIGBUS.
TEST_F(InputFileTest, AFileThatIsRewrittenWhileItIsReadIsWholeOrAnError) {
  TensorMap tensors;
  tensors["x"] = *Tensor::Create({DType::kF32, {1 << 18}});
  ASSERT_TRUE(WriteTensors(path, tensors).ok());
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::atomic<bool> done = false;
  std::thread writer([&] {
    while (!done)
      Write(text); // In place, so it is shorter for a moment.
  });
  for (int i = 0; i != 100; ++i)
    EXPECT_THAT(ReadTensors(path).status().code(), AnyOf(absl::StatusCode::kOk, absl::StatusCode::kDataLoss));
  done = true;
  writer.join();
}

} // namespace
} // namespace cs336::runtime::input_file_test
