//===- TensorFileTest.cpp - Tensor files, whole and damaged ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/TensorFile.h"

#include "ProgramBuilder.h"

#include "absl/strings/str_cat.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <sys/resource.h>
#include <unistd.h>
#include <zip.h>

namespace cs336::runtime::tensor_file_test {
namespace {

using testing::AsBytes;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeTensor;

/// Tests run in parallel, each in a process of its own.
std::string TempPath(const std::string &name) {
  return absl::StrCat(::testing::TempDir(), "tensor_file_", getpid(), "_", name);
}

std::string ReadText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteText(const std::string &path, const std::string &text) { std::ofstream(path, std::ios::binary) << text; }

/// Tensors of every type that the format supports, including scalars and empty
/// ones.
TensorMap SampleTensors(const std::string &extension) {
  TensorMap tensors;
  tensors["f64"] = MakeTensor<double>(DType::kF64, {2, 3}, {0, 1, 2, 3, 4, 5});
  if (extension == ".npy")
    return tensors;
  tensors["layers.0.weight"] = MakeTensor<float>(DType::kF32, {2, 2}, {1.5, -2, 0, 8});
  tensors["f16"] = MakeTensor<uint16_t>(DType::kF16, {2}, {0x3c00, 0xc000});
  tensors["i64"] = MakeTensor<int64_t>(DType::kI64, {}, {int64_t{-1} << 40});
  tensors["i32"] = MakeTensor<int32_t>(DType::kI32, {1, 1, 3}, {1, -2, 3});
  tensors["i1"] = MakeTensor<uint8_t>(DType::kI1, {3}, {1, 0, 1});
  tensors["empty"] = MakeTensor<float>(DType::kF32, {0, 4}, {});
  if (extension == ".safetensors")
    tensors["bf16"] = MakeTensor<uint16_t>(DType::kBF16, {2}, {0x3f80, 0xc000});
  return tensors;
}

void ExpectSame(const TensorMap &a, const TensorMap &b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto &[name, tensor] : a) {
    auto found = b.find(name);
    ASSERT_NE(found, b.end()) << name;
    ASSERT_EQ(tensor.type(), found->second.type()) << name;
    EXPECT_EQ(std::memcmp(tensor.data(), found->second.data(), tensor.num_bytes()), 0) << name;
  }
}

/// Parses a copy in a block of exactly its size, so that AddressSanitizer
/// detects every read beyond it.
absl::Status ParseStatus(const std::string &extension, const std::string &text) {
  std::unique_ptr<uint8_t[]> exact(new uint8_t[text.size()]);
  std::copy(text.begin(), text.end(), exact.get());
  absl::Span<const uint8_t> bytes(exact.get(), text.size());
  if (extension == ".npy")
    return ParseNpy(bytes).status();
  if (extension == ".npz")
    return ParseNpz(bytes).status();
  return ParseSafetensors(bytes).status();
}

class TensorFileTest : public ::testing::TestWithParam<const char *> {
protected:
  std::string extension() const { return GetParam(); }
  std::string Written() const {
    std::string path = TempPath("written" + extension());
    EXPECT_TRUE(WriteTensors(path, SampleTensors(extension())).ok());
    return ReadText(path);
  }
};

TEST_P(TensorFileTest, RoundTrips) {
  // The name of a .npy file is the name of its tensor.
  std::string path = TempPath("dir") + "/f64" + extension();
  std::filesystem::create_directories(TempPath("dir"));
  TensorMap tensors = SampleTensors(extension());
  absl::Status status = WriteTensors(path, tensors);
  ASSERT_TRUE(status.ok()) << status;
  auto read = ReadTensors(path);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSame(*read, tensors);
  // No other file is left.
  for (const auto &entry : std::filesystem::directory_iterator(TempPath("dir")))
    EXPECT_EQ(entry.path().extension(), extension());
  std::filesystem::remove_all(TempPath("dir"));
}

TEST_P(TensorFileTest, RefusesEveryTruncation) {
  std::string whole = Written();
  for (size_t size = 0; size != whole.size(); ++size) {
    absl::Status status = ParseStatus(extension(), whole.substr(0, size));
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << size << " of " << whole.size() << ": " << status;
  }
  EXPECT_TRUE(ParseStatus(extension(), whole).ok());
}

TEST_P(TensorFileTest, SurvivesDamage) {
  std::string whole = Written();
  // Bytes of the header matter more than bytes of the data.
  std::mt19937 random(4);
  for (int trial = 0; trial != 10000; ++trial) {
    std::string changed = whole;
    for (int flips = 1 + random() % 4; flips != 0; --flips) {
      char &byte = changed[random() % changed.size()];
      byte = random() % 2 ? static_cast<char>(random()) : static_cast<char>(byte ^ 1u << random() % 8);
    }
    if (random() % 4 == 0)
      changed.erase(random() % changed.size(), random() % 8);
    absl::Status status = ParseStatus(extension(), changed);
    EXPECT_TRUE(status.ok() || !status.message().empty());
  }
}

TEST_P(TensorFileTest, MessagesNameThePath) {
  std::string path = TempPath("broken" + extension());
  WriteText(path, "no such format");
  absl::Status status = ReadTensors(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  status = ReadTensors(TempPath("nowhere" + extension())).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nowhere"));
}

TEST_P(TensorFileTest, WritesAllOrNothing) {
  TensorMap tensors = SampleTensors(extension());
  absl::Status status = WriteTensors("/nonexistent-folder/x" + extension(), tensors);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent-folder"));

  // A folder of that name cannot be replaced, and no temporary file is left.
  std::string folder = TempPath("taken");
  std::filesystem::create_directories(folder + "/x" + extension());
  EXPECT_FALSE(WriteTensors(folder + "/x" + extension(), tensors).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 1);
  std::filesystem::remove_all(folder);

  // /dev/full can be opened, but not written.
  EXPECT_FALSE(WriteTensors("/dev/full", tensors).ok());
}

TEST_P(TensorFileTest, AFailedWriteKeepsTheOldFile) {
  std::string path = TempPath("kept" + extension());
  WriteText(path, "old");
  TensorMap unwritable = SampleTensors(extension());
  if (extension() == ".safetensors")
    unwritable["__metadata__"] = MakeTensor<float>(DType::kF32, {1}, {});
  else
    unwritable["bf16"] = MakeTensor<uint16_t>(DType::kBF16, {1}, {});
  absl::Status status = WriteTensors(path, unwritable);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadText(path), "old");
}

/// Ends the process with 0 if writing fails for lack of space, keeps the old
/// file, and leaves no other file. A limit on the size of files simulates the
/// full disk.
[[noreturn]] void WriteToAFullDisk(const std::string &path, const TensorMap &tensors) {
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit;
  limit.rlim_cur = limit.rlim_max = 1 << 12;
  setrlimit(RLIMIT_FSIZE, &limit);
  absl::Status status = WriteTensors(path, tensors);
  if (status.ok())
    _exit(1);
  if (ReadText(path) != "old")
    _exit(2);
  for (const auto &entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    if (std::string beside = entry.path(); beside != path && beside.rfind(path, 0) == 0)
      _exit(3);
  _exit(0);
}

TEST_P(TensorFileTest, AFullDiskKeepsTheOldFile) {
  std::string path = TempPath("limited" + extension());
  WriteText(path, "old");
  TensorMap large;
  large["x"] = *Tensor::Create({DType::kF32, {1 << 16}});
  EXPECT_EXIT(WriteToAFullDisk(path, large), ::testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Formats, TensorFileTest, ::testing::Values(".npy", ".npz", ".safetensors"),
                         [](const auto &info) { return std::string(info.param).substr(1); });

TEST(TensorFileTest, ExtensionsDecide) {
  EXPECT_EQ(ReadTensors("weights.bin").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteTensors("weights", {}).code(), absl::StatusCode::kInvalidArgument);
}

/// Returns a .npy file of version `major` with that header and data.
std::string Npy(std::string header, const std::string &data, char major = 1) {
  std::string text = "\x93NUMPY";
  text += {major, '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  if (major > 1)
    text += std::string(2, '\0');
  return text + header + data;
}

std::string Dict(const std::string &descr, const std::string &shape, const char *fortran = "False") {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran, ", 'shape': ", shape, ", }\n");
}

TEST(NpyTest, ReadsWhatNumPyWrites) {
  std::string data(6, '\0');
  for (int i = 0; i != 6; ++i)
    data[i] = static_cast<char>(i - 3);
  for (char major : {1, 2, 3}) {
    Tensor i8 = *ParseNpy(AsBytes(Npy(Dict("|i1", "(2, 3)"), data, major)));
    EXPECT_EQ(i8.type(), (TensorType{DType::kI32, {2, 3}}));
    EXPECT_THAT(i8.values<int32_t>(), ElementsAre(-3, -2, -1, 0, 1, 2));
  }
  Tensor u16 = *ParseNpy(AsBytes(Npy(Dict("<u2", "(3,)"), data)));
  EXPECT_THAT(u16.values<int32_t>(), ElementsAre(0xfefd, 0x00ff, 0x0201));
  Tensor fortran = *ParseNpy(AsBytes(Npy(Dict("|u1", "(2, 3)", "True"), "\1\2\3\4\5\6")));
  EXPECT_THAT(fortran.values<int32_t>(), ElementsAre(1, 3, 5, 2, 4, 6));
  Tensor scalar = *ParseNpy(AsBytes(Npy(Dict("|b1", "()"), "\7")));
  EXPECT_THAT(scalar.values<uint8_t>(), ElementsAre(1));
  Tensor u32 = *ParseNpy(AsBytes(Npy(Dict("<u4", "(1,)"), "\xff\xff\xff\xff")));
  EXPECT_THAT(u32.values<int64_t>(), ElementsAre(4294967295));
}

TEST(NpyTest, SaysWhatIsWrong) {
  auto message = [](const std::string &text) {
    absl::Status status = ParseNpy(AsBytes(text)).status();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  };
  std::string data(8, '\0');
  EXPECT_THAT(message(Npy(Dict(">f4", "(2,)"), data)), HasSubstr("type '>f4' are not supported"));
  EXPECT_THAT(message(Npy(Dict("<c8", "(1,)"), data)), HasSubstr("'<c8'"));
  EXPECT_THAT(message(Npy(Dict("<f4", "(3,)"), data)), HasSubstr("takes 12 bytes, but 8 follow"));
  EXPECT_THAT(message(Npy(Dict("<f4", "(1,)"), data)), HasSubstr("4 bytes follow its last element"));
  EXPECT_THAT(message(Npy(Dict("<f4", "(-2,)"), data)), HasSubstr("something other than sizes"));
  EXPECT_THAT(message(Npy(Dict("<f4", "(4611686018427387904, 4)"), data)), HasSubstr("overflows"));
  EXPECT_THAT(message(Npy(Dict("<f4", "(99999999999999999999,)"), data)), HasSubstr("something other than sizes"));
  EXPECT_THAT(message(Npy("{'descr': [('a', '<f4')]}", data)), HasSubstr("its header lacks a string"));
  EXPECT_THAT(message(Npy("{'descr': '<f4'}", data)), HasSubstr("lacks"));
  EXPECT_THAT(message(Npy(Dict("<f4", "(2,)"), data, 9)), HasSubstr("version 9"));
}

/// Returns a zip file of those members, deflated or stored.
std::string Zip(const std::vector<std::pair<std::string, std::string>> &members, int method) {
  std::string path = TempPath("made.npz");
  zip_t *archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  for (const auto &[name, data] : members) {
    zip_int64_t index = zip_file_add(archive, name.c_str(), zip_source_buffer(archive, data.data(), data.size(), 0), 0);
    zip_set_file_compression(archive, index, method, 0);
  }
  EXPECT_EQ(zip_close(archive), 0);
  return ReadText(path);
}

TEST(NpzTest, ReadsDeflatedMembers) {
  std::string zeros(4000, '\0');
  std::string npz = Zip({{"x.npy", Npy(Dict("<f4", "(1000,)"), zeros)}}, ZIP_CM_DEFLATE);
  EXPECT_LT(npz.size(), 500u);
  auto tensors = ParseNpz(AsBytes(npz));
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_EQ(tensors->at("x").type(), (TensorType{DType::kF32, {1000}}));
  EXPECT_THAT(tensors->at("x").values<float>(), Each(0));
}

TEST(NpzTest, ReadsNumPysOwnFiles) {
  auto tensors = ReadTensors(CS336_TEST_GOLDEN);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_GT(tensors->size(), 10u);
}

TEST(NpzTest, SaysWhatIsWrong) {
  auto message = [](const std::string &npz) {
    absl::Status status = ParseNpz(AsBytes(npz)).status();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  };
  std::string npy = Npy(Dict("<f4", "(1,)"), "1234");
  EXPECT_THAT(message(Zip({{"x.txt", "hello"}}, ZIP_CM_STORE)), HasSubstr("'x.txt' is not a .npy file"));
  EXPECT_THAT(message(Zip({{"x.npy", "hello"}}, ZIP_CM_STORE)), HasSubstr("member 'x.npy'"));
  // A flipped bit of the data breaks the member's checksum.
  std::string npz = Zip({{"x.npy", npy}}, ZIP_CM_STORE);
  npz[npz.find("1234")] ^= 1;
  EXPECT_THAT(message(npz), HasSubstr("member 'x.npy'"));
}

/// Returns a .safetensors file of that header and data.
std::string Safetensors(const std::string &header, const std::string &data) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<const char *>(&size), 8) + header + data;
}

TEST(SafetensorsTest, ReadsMetadataAndNarrowIntegers) {
  auto tensors = ParseSafetensors(AsBytes(Safetensors(R"({"__metadata__":{"format":"pt"},)"
                                                      R"("a":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},)"
                                                      R"("b":{"dtype":"I16","shape":[2,1],"data_offsets":[0,4]}}  )",
                                                      std::string("\1\0\xff\xff\7\xff", 6))));
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_THAT(tensors->at("a").values<int32_t>(), ElementsAre(7, 255));
  EXPECT_THAT(tensors->at("b").values<int32_t>(), ElementsAre(1, -1));
}

TEST(SafetensorsTest, IgnoresOtherFieldsAndNotes) {
  const std::string header =
      R"({"__metadata__":{"a":["b"],"c":{"d":"e"},"f":"g"},)"
      R"("x":{"dtype":"F32","note":{"shape":[7,"h"]},"list":[1,[2]],"shape":[],"data_offsets":[0,4]}})";
  auto tensors = ParseSafetensors(AsBytes(Safetensors(header, std::string("\0\0\x80\x3f", 4))));
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_THAT(tensors->at("x").values<float>(), ElementsAre(1));
}

TEST(SafetensorsTest, SaysWhatIsWrong) {
  auto message = [](const std::string &header, const std::string &data) {
    absl::Status status = ParseSafetensors(AsBytes(Safetensors(header, data))).status();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  };
  auto entry = [](const char *dtype, const char *shape, const char *offsets) {
    return absl::StrCat(R"({"a":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":)", offsets, "}}");
  };
  EXPECT_THAT(message("[1]", ""), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(message("", ""), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(message("\xEF\xBB\xBF{}", ""), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(message("{", ""), HasSubstr("not a JSON object"));
  EXPECT_THAT(message(R"({"a":5})", ""), HasSubstr("tensor 'a'"));
  EXPECT_THAT(message(R"({"a":{}})", ""), HasSubstr("'dtype', 'shape' and 'data_offsets' expected"));
  EXPECT_THAT(message(R"({"a":[{"dtype":"F32","shape":[1],"data_offsets":[0,4]}]})", "1234"), HasSubstr("expected"));
  EXPECT_THAT(message(entry("F32", "1", "[0,4]"), "1234"), HasSubstr("an array of integers expected"));
  EXPECT_THAT(message(entry("F32", "[[1]]", "[0,4]"), "1234"), HasSubstr("something other than sizes"));
  EXPECT_THAT(message(entry("F32", "[1.0]", "[0,4]"), "1234"), HasSubstr("something other than sizes"));
  EXPECT_THAT(message(entry("F32", "[18446744073709551615]", "[0,4]"), "1234"), HasSubstr("other than sizes"));
  EXPECT_THAT(message(R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", "1234"), HasSubstr("expected"));
  EXPECT_THAT(message(entry("F8_E4M3", "[1]", "[0,1]"), "x"), HasSubstr("type 'F8_E4M3' are not supported"));
  EXPECT_THAT(message(entry("F32", "[1]", "[0,8]"), "12345678"),
              HasSubstr("takes 4 bytes, but its 'data_offsets' hold 8"));
  EXPECT_THAT(message(entry("F32", "[2]", "[0,8]"), "1234"), HasSubstr("end at byte 8 of 4"));
  EXPECT_THAT(message(entry("F32", "[1]", "[4,0]"), "1234"), HasSubstr("are not a range"));
  EXPECT_THAT(message(entry("F32", "[-1]", "[0,4]"), "1234"), HasSubstr("something other than sizes"));
  EXPECT_THAT(message(entry("F32", "[4611686018427387904,4]", "[0,4]"), "1234"), HasSubstr("overflows"));
  EXPECT_THAT(message(entry("F32", "[1]", "[0,4]"), "12345678"), HasSubstr("4 bytes follow its last tensor"));
  EXPECT_THAT(message(entry("F32", "[1]", "[4,8]"), "12345678"), HasSubstr("overlap or leave a gap at byte 0"));
  std::string deep = R"({"a":)" + std::string(100000, '[');
  EXPECT_THAT(message(deep, ""), HasSubstr("not a JSON object"));
  const std::string value = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(message(absl::StrCat(R"({"a":)", value, R"(,"a":)", value, "}"), "1234"),
              HasSubstr("the key 'a' occurs twice in its header"));
  EXPECT_THAT(message(R"({"a":{"dtype":"F64","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234"),
              HasSubstr("the key 'dtype' occurs twice in its header"));
  EXPECT_THAT(message(R"({"__metadata__":{"x":"1","\u0078":"2"}})", ""), HasSubstr("the key 'x' occurs twice"));
  std::string truncated("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10);
  EXPECT_THAT(std::string(ParseSafetensors(AsBytes(truncated)).status().message()), HasSubstr("truncated"));
}

} // namespace
} // namespace cs336::runtime::tensor_file_test
