//===- TensorTest.cpp - Tensors, copies and casts -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Tensor.h"

#include "ProgramBuilder.h"
#include "tensor/StridedCopy.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace cs336::runtime::tensor_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeTensor;

TEST(DTypeTest, NamesAndSizes) {
  for (DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16, DType::kI64, DType::kI32, DType::kI1})
    EXPECT_EQ(ParseDType(Name(dtype)), dtype);
  EXPECT_EQ(ParseDType("f8"), absl::nullopt);
  EXPECT_EQ(ByteSize(DType::kBF16), 2);
  EXPECT_EQ(ToString({DType::kF32, {4, 128}}), "f32[4, 128]");
  EXPECT_EQ(ToString({DType::kI1, {}}), "i1[]");
}

TEST(DTypeTest, ElementCountsAreChecked) {
  EXPECT_EQ(CheckedNumElements({DType::kF32, {}}), 1);
  EXPECT_EQ(CheckedNumElements({DType::kF32, {3, 0, 5}}), 0);
  EXPECT_EQ(CheckedNumElements({DType::kF32, {-1}}), absl::nullopt);
  EXPECT_EQ(CheckedNumElements({DType::kF64, {int64_t{1} << 60}}), absl::nullopt);
  EXPECT_EQ(CheckedNumElements({DType::kI1, {INT64_MAX, 2}}), absl::nullopt);
  EXPECT_EQ(CheckedNumElements({DType::kI1, {INT64_MAX, 2, 0}}), absl::nullopt);
}

TEST(TensorTest, CreateRefusesTheImpossible) {
  EXPECT_EQ(Tensor::Create({DType::kF32, {-1}}).status().code(), absl::StatusCode::kInvalidArgument);
  absl::Status status = Tensor::Create({DType::kF32, {int64_t{1} << 60}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("4.00 EiB"));
}

TEST(TensorTest, IsZeroedAndAligned) {
  Tensor tensor = *Tensor::Create({DType::kF32, {3, 5}});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % Storage::kAlignment, 0u);
  for (float value : tensor.values<float>())
    EXPECT_EQ(value, 0);
  EXPECT_EQ(tensor.num_bytes(), 60);
}

TEST(TensorTest, RowsAreViews) {
  Tensor tensor = MakeTensor<int32_t>(DType::kI32, {3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(tensor.view().Rows(1, 2).values<int32_t>(), ElementsAre(2, 3, 4, 5));
  EXPECT_TRUE(tensor.view().Rows(0, 1).is_dense());
  TensorView transposed({DType::kI32, {2, 3}}, {1, 2}, tensor.data());
  EXPECT_FALSE(transposed.is_dense());
  EXPECT_THAT(Tensor::CopyOf(transposed)->values<int32_t>(), ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(TensorTest, CopyNeedsOneType) {
  Tensor a = MakeTensor<float>(DType::kF32, {2}, {});
  Tensor b = MakeTensor<float>(DType::kF32, {2, 1}, {});
  EXPECT_EQ(CopyElements(a, b.mutable_view()).code(), absl::StatusCode::kInvalidArgument);
}

TEST(StridedCopyTest, JoinsWhatIsContiguous) {
  StridedCopy whole({4, 5, 6}, {30, 6, 1}, {30, 6, 1}, 4);
  EXPECT_EQ(whole.runs(), 1);
  EXPECT_EQ(whole.bytes_per_run(), 480);
  StridedCopy rows({4, 5, 6}, {30, 6, 1}, {60, 12, 1}, 4);
  EXPECT_EQ(rows.runs(), 20);
  EXPECT_EQ(rows.bytes_per_run(), 24);
  EXPECT_EQ(StridedCopy({4, 0}, {1, 1}, {1, 1}, 4).runs(), 0);
}

TEST(StridedCopyTest, MatchesAPlainLoop) {
  std::mt19937 random(3);
  for (int trial = 0; trial != 300; ++trial) {
    Dims shape;
    for (int rank = random() % 5; rank != 0; --rank)
      shape.push_back(1 + random() % 5);
    auto layout = [&] {
      std::vector<size_t> order(shape.size());
      for (size_t i = 0; i != order.size(); ++i)
        order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      Dims strides(shape.size());
      int64_t stride = 1 + random() % 2;
      for (size_t dim : order) {
        strides[dim] = stride;
        stride *= shape[dim] + random() % 2;
      }
      return strides;
    };
    Dims src_strides = layout(), dst_strides = layout();
    for (DType dtype : {DType::kI1, DType::kBF16, DType::kF32, DType::kF64}) {
      int64_t size = ByteSize(dtype);
      std::vector<uint8_t> src(size * 100000), dst(src.size(), 0xEE);
      for (uint8_t &byte : src)
        byte = random();
      std::vector<uint8_t> expected = dst;
      int64_t count = *CheckedNumElements({dtype, shape});
      for (int64_t i = 0; i != count; ++i) {
        int64_t from = 0, to = 0, rest = i;
        for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim]) {
          from += rest % shape[dim] * src_strides[dim];
          to += rest % shape[dim] * dst_strides[dim];
        }
        std::copy_n(&src[from * size], size, &expected[to * size]);
      }
      ASSERT_TRUE(CopyElements(TensorView({dtype, shape}, src_strides, src.data()),
                               MutableTensorView({dtype, shape}, dst_strides, dst.data()))
                      .ok());
      ASSERT_EQ(dst, expected);
      if (trial % 50 != 0)
        break; // Larger types take long and test nothing new.
    }
  }
}

TEST(CastTest, RoundsToNearestEven) {
  Tensor f32 = MakeTensor<float>(DType::kF32, {3}, {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, -2});
  Tensor bf16 = *Cast(f32, DType::kBF16);
  EXPECT_THAT(bf16.values<uint16_t>(), ElementsAre(0x3f80, 0x3f82, 0xc000));
  EXPECT_THAT(Cast(bf16, DType::kF64)->values<double>(), ElementsAre(1, 1 + 0x1p-6, -2));
  EXPECT_THAT(Cast(f32, DType::kF16)->values<uint16_t>(), ElementsAre(0x3c04, 0x3c0c, 0xc000));
}

TEST(CastTest, BetweenIntegersAndFloats) {
  Tensor f64 = MakeTensor<double>(DType::kF64, {4}, {-1.5, 0, 2.9, 1e9});
  EXPECT_THAT(Cast(f64, DType::kI32)->values<int32_t>(), ElementsAre(-1, 0, 2, 1000000000));
  EXPECT_THAT(Cast(f64, DType::kI1)->values<uint8_t>(), ElementsAre(1, 0, 1, 1));
  Tensor i1 = MakeTensor<uint8_t>(DType::kI1, {2}, {0, 1});
  EXPECT_THAT(Cast(i1, DType::kF32)->values<float>(), ElementsAre(0, 1));
  Tensor i64 = MakeTensor<int64_t>(DType::kI64, {2}, {-5, 1 << 20});
  EXPECT_THAT(Cast(i64, DType::kI32)->values<int32_t>(), ElementsAre(-5, 1 << 20));
}

TEST(CastTest, RefusesWhatDoesNotFit) {
  double inf = std::numeric_limits<double>::infinity();
  for (double bad : {0x1p31, -0x1p31 - 1, inf, -inf, double(NAN)}) {
    Tensor f64 = MakeTensor<double>(DType::kF64, {2}, {0, bad});
    absl::Status status = Cast(f64, DType::kI32).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr("element 1"));
  }
  EXPECT_TRUE(Cast(MakeTensor<double>(DType::kF64, {1}, {-0x1p31}), DType::kI32).ok());
  EXPECT_FALSE(Cast(MakeTensor<double>(DType::kF64, {1}, {0x1p63}), DType::kI64).ok());
  EXPECT_FALSE(Cast(MakeTensor<int64_t>(DType::kI64, {1}, {int64_t{1} << 31}), DType::kI32).ok());
}

TEST(StorageTest, BytesForPeople) {
  EXPECT_EQ(FormatBytes(1023), "1023 bytes");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB (1536 bytes)");
  EXPECT_EQ(FormatBytes(int64_t{3} << 30), "3.00 GiB (3221225472 bytes)");
  EXPECT_EQ(AddBytes(INT64_MAX, 1), INT64_MAX);
  EXPECT_GT(AvailableHostMemory(), 0);
}

TEST(StorageTest, ReservesZeros) {
  for (int64_t bytes : {int64_t{0}, int64_t{5}, (int64_t{64} << 20) + 3}) {
    Storage storage = *Storage::Reserve(bytes);
    ASSERT_NE(storage.data(), nullptr);
    ASSERT_EQ(storage.size(), bytes);
    char *data = static_cast<char *>(storage.data());
    for (int64_t i = 0; i < bytes; i += 4096)
      ASSERT_EQ(data[i]++, 0);
  }
  EXPECT_EQ(Storage::Reserve(-1).status().code(), absl::StatusCode::kInvalidArgument);
  absl::Status status = Storage::Reserve(INT64_MAX).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("of host memory"));
}

TEST(SumOfSquaresTest, AddsEveryElementOfEveryType) {
  EXPECT_EQ(*SumOfSquares(MakeTensor<float>(DType::kF32, {3}, {1, -2, 3})), 14);
  EXPECT_EQ(*SumOfSquares(MakeTensor<int64_t>(DType::kI64, {2, 1}, {3, 4})), 25);
  EXPECT_EQ(*SumOfSquares(*Cast(MakeTensor<float>(DType::kF32, {2}, {0.5, 1.5}), DType::kBF16)), 2.5);
  EXPECT_EQ(*SumOfSquares(*Tensor::Create({DType::kF64, {0, 4}})), 0);
  EXPECT_EQ(SumOfSquares(*Tensor::Create({DType::kI1, {2}})).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SumOfSquaresTest, NeitherLengthNorStridesNorThreadsMatter) {
  // Several parts and a remainder; all partial sums are exact.
  int64_t count = 5 * 65536 + 13;
  Tensor tensor = *Tensor::Create({DType::kF32, {count, 2}});
  for (int64_t i = 0; i != count; ++i)
    tensor.mutable_values<float>()[2 * i] = static_cast<float>(i % 7);
  double expected = 0;
  for (int64_t i = 0; i != count; ++i)
    expected += static_cast<double>(i % 7) * static_cast<double>(i % 7);
  EXPECT_EQ(*SumOfSquares(tensor), expected);
  EXPECT_EQ(*SumOfSquares(TensorView({DType::kF32, {count}}, {2}, tensor.data())), expected);
}

} // namespace
} // namespace cs336::runtime::tensor_test
