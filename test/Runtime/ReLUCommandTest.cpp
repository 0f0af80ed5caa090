//===- ReLUCommandTest.cpp - ReLU of a GEMM's result ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/ReLUCommand.h"

#include "device/cuda/CudaMemory.h"
#include "tensor/Elements.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace cs336::runtime {
namespace {

/// A GEMM whose result has been computed before.
class FinishedGemm : public PreparedCommand {
public:
  absl::Status Execute() override { return absl::OkStatus(); }
};

/// Values that differ in the sign, in an exponent of all ones, and at the ends
/// of a type's range; their number has no factor in common with the matrices'
/// sizes.
template <typename T>
std::vector<T> MakeElements(int64_t count) {
  using Limits = std::numeric_limits<T>;
  const T kinds[] = {T(1.5),
                     T(-1.5),
                     T(0.0),
                     -T(0.0),
                     Limits::infinity(),
                     -Limits::infinity(),
                     Limits::quiet_NaN(),
                     -Limits::quiet_NaN(),
                     Limits::denorm_min(),
                     -Limits::denorm_min(),
                     Limits::max(),
                     Limits::lowest(),
                     T(-0.25)};
  std::vector<T> elements;
  for (int64_t i = 0; i != count; ++i)
    elements.push_back(kinds[i % std::size(kinds)]);
  return elements;
}

template <typename T>
void CheckReLU(const CudaContext &context, DType dtype) {
  // Rows and both batch dimensions have gaps.
  constexpr int64_t kRows = 5, kColumns = 300, kRowStride = 307, kInner = kRows * kRowStride + 3, kOuter = 4 * kInner;
  GemmProblem problem;
  problem.batch = {2, 3};
  for (GemmMatrix *matrix : {&problem.a, &problem.b, &problem.c})
    *matrix = {dtype, nullptr, kRows, kColumns, kRowStride, 1, {kOuter, kInner}};
  const std::vector<T> before = MakeElements<T>(2 * kOuter);
  int64_t bytes = before.size() * sizeof(T);
  auto memory = CudaMemory::Create(context);
  ASSERT_TRUE(memory.ok()) << memory.status();
  auto block = (*memory)->Allocate(bytes, 256);
  ASSERT_TRUE(block.ok()) << block.status();
  problem.c.data = block->data();
  problem.d = problem.c;
  ASSERT_TRUE((*memory)->CopyFromHost(problem.c.data, before.data(), bytes).ok());

  auto command = PrepareReLUAfter(context, problem, std::make_unique<FinishedGemm>());
  ASSERT_TRUE(command.ok()) << command.status();
  ASSERT_TRUE((*command)->Execute().ok());
  std::vector<T> after(before.size());
  ASSERT_TRUE((*memory)->CopyToHost(after.data(), problem.c.data, bytes).ok());

  std::vector<T> expected = before;
  for (int64_t outer = 0; outer != 2; ++outer)
    for (int64_t inner = 0; inner != 3; ++inner)
      for (int64_t row = 0; row != kRows; ++row)
        for (int64_t column = 0; column != kColumns; ++column) {
          T &element = expected[outer * kOuter + inner * kInner + row * kRowStride + column];
          if (element <= T(0.0))
            element = T(0.0);
        }
  // Values that are kept, also NaN, keep all bits.
  for (size_t i = 0; i != after.size(); ++i)
    ASSERT_EQ(std::memcmp(&after[i], &expected[i], sizeof(T)), 0)
        << Name(dtype) << ", element " << i << ": " << static_cast<double>(before[i]) << " became "
        << static_cast<double>(after[i]);
}

TEST(ReLUCommandTest, OnAGpuKeepsNaNAndWhatLiesBetween) {
  auto context = CudaContext::Create(0);
  if (!context.ok())
    GTEST_SKIP() << context.status();
  CheckReLU<double>(**context, DType::kF64);
  CheckReLU<float>(**context, DType::kF32);
  CheckReLU<Eigen::bfloat16>(**context, DType::kBF16);
  CheckReLU<Eigen::half>(**context, DType::kF16);
}

TEST(ReLUCommandTest, OnAGpuThereIsNoneOfIntegers) {
  auto context = CudaContext::Create(0);
  if (!context.ok())
    GTEST_SKIP() << context.status();
  GemmProblem problem;
  for (GemmMatrix *matrix : {&problem.a, &problem.b, &problem.c, &problem.d})
    *matrix = {DType::kI32, nullptr, 2, 2, 2, 1, {}};
  auto command = PrepareReLUAfter(**context, problem, std::make_unique<FinishedGemm>());
  EXPECT_EQ(command.status().code(), absl::StatusCode::kUnimplemented) << command.status();
}

} // namespace
} // namespace cs336::runtime
