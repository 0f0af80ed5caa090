//===- CublasLtApiTest.cpp - Loading cuBLASLt, or not ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CublasLtApi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::cublaslt_api_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CublasLtApiTest, NoLibraryIsAnAnswer) {
  absl::Status status = CublasLtApi::Load("libcublasLt-missing.so.13").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("cannot load libcublasLt-missing.so.13"),
                                                   HasSubstr("/usr/local/cuda/lib64"), HasSubstr("nvidia-cublas")));
}

TEST(CublasLtApiTest, AnotherLibraryIsNamed) {
  absl::Status status = CublasLtApi::Load("libm.so.6").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("libm.so.6 has no function cublasLt"));
}

/// The library checks the size of each attribute, so this shows that the
/// declarations here agree with it.
TEST(CublasLtApiTest, DeclarationsAreTheLibrarys) {
  auto loaded = CublasLtApi::Load();
  if (!loaded.ok())
    GTEST_SKIP() << loaded.status();
  const CublasLtApi &api = **loaded;
  EXPECT_GE(api.version(), 130000);
  EXPECT_THAT(std::string(api.ToStatus(cublaslt::kNotSupported, "Matmul").message()),
              AllOf(HasSubstr("cublasLtMatmul: "), HasSubstr("not supported")));
  EXPECT_EQ(api.ToStatus(cublaslt::kNotSupported, "Matmul").code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(api.ToStatus(cublaslt::kSuccess, "Matmul").ok());

  cublaslt::MatmulDesc operation;
  ASSERT_EQ(api.MatmulDescCreate(&operation, cublaslt::kCompute32FFastTF32, cublaslt::kR32F), cublaslt::kSuccess);
  int32_t transposed = cublaslt::kOpT;
  EXPECT_EQ(api.MatmulDescSetAttribute(operation, cublaslt::kTransA, &transposed, 4), cublaslt::kSuccess);
  EXPECT_EQ(api.MatmulDescSetAttribute(operation, cublaslt::kTransB, &transposed, 4), cublaslt::kSuccess);
  EXPECT_NE(api.MatmulDescSetAttribute(operation, cublaslt::kTransB, &transposed, 2), cublaslt::kSuccess);
  EXPECT_EQ(api.MatmulDescDestroy(operation), cublaslt::kSuccess);

  for (cublaslt::DataType type : {cublaslt::kR64F, cublaslt::kR32F, cublaslt::kR16BF, cublaslt::kR16F}) {
    cublaslt::MatrixLayout layout;
    ASSERT_EQ(api.MatrixLayoutCreate(&layout, type, 8, 4, 8), cublaslt::kSuccess);
    int32_t count = 3;
    int64_t stride = 32;
    EXPECT_EQ(api.MatrixLayoutSetAttribute(layout, cublaslt::kBatchCount, &count, 4), cublaslt::kSuccess);
    EXPECT_EQ(api.MatrixLayoutSetAttribute(layout, cublaslt::kStridedBatchOffset, &stride, 8), cublaslt::kSuccess);
    EXPECT_EQ(api.MatrixLayoutDestroy(layout), cublaslt::kSuccess);
  }

  cublaslt::MatmulPreference preference;
  ASSERT_EQ(api.MatmulPreferenceCreate(&preference), cublaslt::kSuccess);
  uint64_t bytes = 1 << 20;
  uint32_t word = 16;
  EXPECT_EQ(api.MatmulPreferenceSetAttribute(preference, cublaslt::kMaxWorkspaceBytes, &bytes, 8), cublaslt::kSuccess);
  for (auto attribute : {cublaslt::kMinAlignmentABytes, cublaslt::kMinAlignmentBBytes, cublaslt::kMinAlignmentCBytes,
                         cublaslt::kMinAlignmentDBytes})
    EXPECT_EQ(api.MatmulPreferenceSetAttribute(preference, attribute, &word, 4), cublaslt::kSuccess);
  word = cublaslt::kReductionComputeType;
  EXPECT_EQ(api.MatmulPreferenceSetAttribute(preference, cublaslt::kReductionSchemeMask, &word, 4), cublaslt::kSuccess);
  EXPECT_EQ(api.MatmulPreferenceDestroy(preference), cublaslt::kSuccess);
}

} // namespace
} // namespace cs336::runtime::cublaslt_api_test
