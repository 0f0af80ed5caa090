//===- CubinResourcesTest.cpp - Registers and memory of machine code ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/NVRTC/CubinResources.h"

#include "cs336/Target/NVRTC/NVRTC.h"
#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336 {
namespace {

using testing::HasSubstr;

constexpr llvm::StringLiteral kText = R"(
extern "C" __global__ void plain(float *p) { p[threadIdx.x] *= 2; }
extern "C" __global__ void shared(float *p) {
  __shared__ float values[1000];
  values[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = values[(threadIdx.x * 7) % 1000];
}
extern "C" __global__ void local(float *p, int n) {
  float values[64];
  for (int i = 0; i < 64; ++i)
    values[i] = p[i * n];
  for (int i = 0; i < n; ++i)
    values[(i * 7) & 63] += values[i & 63];
  for (int i = 0; i < 64; ++i)
    p[i] = values[i];
}
)";

llvm::ArrayRef<uint8_t> GetBytes(const Cubin &cubin) {
  return {reinterpret_cast<const uint8_t *>(cubin.image.data()), cubin.image.size()};
}

class CubinResourcesTest : public testing::TestWithParam<const char *> {
protected:
  /// Returns nullopt if NVRTC is missing.
  std::optional<Cubin> Compile() {
    llvm::Expected<NVRTC> compiler = NVRTC::load();
    if (!compiler) {
      llvm::consumeError(compiler.takeError());
      return std::nullopt;
    }
    return llvm::cantFail(compiler->compile(kText, "test.cu", GetParam()));
  }
};

// The assembler's report has registers; the text has the other sizes: 1000 floats, and 64 that are indexed.
TEST_P(CubinResourcesTest, AgreeWithTheAssembler) {
  std::optional<Cubin> cubin = Compile();
  if (!cubin)
    GTEST_SKIP() << "NVRTC is missing";
  std::vector<CubinResources> kernels = llvm::cantFail(readCubinResources(GetBytes(*cubin)));
  ASSERT_EQ(kernels.size(), 3u);
  for (const CubinResources &kernel : kernels) {
    auto reported = llvm::find_if(cubin->kernels, [&](const auto &each) { return each.name == kernel.name; });
    ASSERT_NE(reported, cubin->kernels.end()) << kernel.name;
    EXPECT_EQ(kernel.registersPerThread, reported->registers) << kernel.name;
    EXPECT_EQ(kernel.staticSharedBytes, kernel.name == "shared" ? 4000 : 0) << kernel.name;
    EXPECT_EQ(kernel.localBytesPerThread, kernel.name == "local" ? 256 : 0) << kernel.name;
  }
}

TEST_P(CubinResourcesTest, DamagedFilesAreErrors) {
  std::optional<Cubin> cubin = Compile();
  if (!cubin)
    GTEST_SKIP() << "NVRTC is missing";
  llvm::ArrayRef<uint8_t> bytes = GetBytes(*cubin);
  // The second half has the section headers, and then headers for loading.
  for (size_t size = 0; size < bytes.size() / 2; size += 61) {
    llvm::Expected<std::vector<CubinResources>> kernels = readCubinResources(bytes.take_front(size));
    EXPECT_FALSE(kernels) << size;
    if (!kernels) {
      EXPECT_THAT(llvm::toString(kernels.takeError()), HasSubstr("not a cubin"));
    }
  }
  // Any byte may be wrong; the reader must return.
  for (size_t position = 0; position < bytes.size(); position += 7) {
    std::vector<uint8_t> damaged = bytes.vec();
    damaged[position] ^= 0xff;
    llvm::consumeError(readCubinResources(damaged).takeError());
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, CubinResourcesTest, testing::Values("sm_80", "sm_90a", "sm_100a", "sm_120"));

TEST(CubinResourcesErrorTest, OtherFilesAreErrors) {
  std::vector<uint8_t> zeros(4096);
  llvm::Expected<std::vector<CubinResources>> kernels = readCubinResources(zeros);
  ASSERT_FALSE(kernels);
  EXPECT_THAT(llvm::toString(kernels.takeError()), HasSubstr("not a cubin"));
}

} // namespace
} // namespace cs336
