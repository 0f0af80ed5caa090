//===- GemmTest.cpp - GEMM commands against a plain loop in double --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "cs336/runtime/CudaInfo.h"
#include "cs336/runtime/Session.h"
#include "device/cpu/GemmLibraries.h"

#include "absl/strings/str_cat.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <unistd.h>

namespace cs336::runtime {
namespace {

using testing::EntryBuilder;
using testing::MakeType;
using testing::ProgramBuilder;

/// The layout of an operand in storage that its last two dimensions do not
/// fill.
struct Layout {
  std::vector<int64_t> shape, strides;
  int64_t elements = 1; // Elements of its storage.
};

/// Lays out batch x rows x columns: rows or columns are contiguous, with or
/// without padding. Batch dimensions are in any order around the matrices or,
/// like heads, between their rows and columns, or broadcast.
Layout MakeLayout(const std::vector<int64_t> &batch, int64_t rows, int64_t columns, bool may_broadcast,
                  std::mt19937 &random) {
  auto chance = [&](int one_in) { return random() % one_in == 0; };
  Layout layout;
  layout.shape = batch;
  layout.shape.insert(layout.shape.end(), {rows, columns});
  layout.strides.resize(layout.shape.size());
  size_t rank = layout.shape.size();
  bool transposed = chance(2);
  std::vector<size_t> order; // Fastest first.
  order.push_back(transposed ? rank - 2 : rank - 1);
  if (chance(3)) // Heads between rows and columns.
    for (size_t i = rank - 2; i-- > 0;)
      order.push_back(i);
  order.push_back(transposed ? rank - 1 : rank - 2);
  for (size_t i = rank - 2; i-- > 0;)
    if (std::find(order.begin(), order.end(), i) == order.end())
      order.push_back(i);
  int64_t stride = 1;
  for (size_t dim : order) {
    bool broadcast = may_broadcast && dim < rank - 2 && chance(5);
    layout.strides[dim] = broadcast ? 0 : stride;
    if (!broadcast)
      stride *= layout.shape[dim] + (chance(4) ? random() % 3 : 0);
  }
  layout.elements = stride;
  return layout;
}

/// Adds a buffer for the layout over a flat port of the entry.
uint32_t AddOperand(EntryBuilder &entry, uint32_t port, const Layout &layout) {
  return entry.View(port, layout.shape, layout.strides);
}

template <typename T>
Tensor RandomTensor(DType dtype, int64_t elements, std::mt19937 &random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor tensor = *Tensor::Create({dtype, {elements}});
  for (T &value : tensor.mutable_values<T>())
    value = static_cast<T>(uniform(random));
  return tensor;
}

int64_t Offset(const Layout &layout, const std::vector<int64_t> &index) {
  int64_t offset = 0;
  for (size_t i = 0; i != index.size(); ++i)
    offset += index[i] * layout.strides[i];
  return offset;
}

/// Creates a session for the program on "cpu" or "cuda".
absl::StatusOr<std::unique_ptr<Session>> CreateSession(ProgramBuilder &program, const std::string &device) {
  if (device == "cuda")
    program.executable().target = format::Target::cuda;
  auto executable = program.Build();
  if (!executable.ok())
    return executable.status();
  SessionOptions options;
  options.device = device;
  return Session::Create(*executable, options);
}

/// Runs one random GEMM of T and compares every element of C's storage with a
/// sum in double. Elements between C's rows must not change. The bits must be
/// the same again, also in another session. On a GPU that one finds the first
/// one's choice of an algorithm, or that none keeps NaN, in the cache.
template <typename T, typename TC = T>
void CheckRandomGemm(DType dtype, DType c_dtype, double tolerance, unsigned seed, const std::string &device = "cpu") {
  std::mt19937 random(seed);
  auto size = [&](int64_t most) -> int64_t { return 1 + random() % most; };
  std::vector<int64_t> batch;
  for (int i = random() % 3; i != 0; --i)
    batch.push_back(size(4));
  // A single matrix, beyond one tile in every direction.
  int64_t most = batch.empty() ? 160 : 40;
  int64_t m = size(most), n = size(most), k = size(2 * most);
  Layout a = MakeLayout(batch, m, k, true, random);
  Layout b = MakeLayout(batch, k, n, true, random);
  Layout c = MakeLayout(batch, m, n, false, random);
  bool accumulates = random() % 2;
  bool has_addend = accumulates && random() % 2;
  // A library adds a bias, if any, to rows that are contiguous.
  bool may_have_bias = device == "cpu" || dtype != DType::kF64;
  bool has_bias = may_have_bias && (n == 1 || c.strides.back() == 1) && random() % 2;
  bool relu = random() % 2;

  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t a_port = entry.Input("a", MakeType(dtype, {a.elements}));
  uint32_t b_port = entry.Input("b", MakeType(dtype, {b.elements}));
  uint32_t c_port = entry.Input("c", MakeType(c_dtype, {c.elements}));
  uint32_t d_port = entry.Input("d", MakeType(c_dtype, {c.elements}));
  uint32_t bias_port = entry.Input("bias", MakeType(c_dtype, {n}));
  uint32_t out = entry.Output("out", MakeType(c_dtype, {c.elements}));
  entry.Copy(c_port, out);
  format::GemmT &gemm =
      entry.Gemm(AddOperand(entry, a_port, a), AddOperand(entry, b_port, b), AddOperand(entry, out, c));
  if (accumulates)
    gemm.addend = has_addend ? AddOperand(entry, d_port, c) : gemm.c;
  if (has_bias)
    gemm.bias = bias_port;
  gemm.relu = relu;

  Tensor a_values = RandomTensor<T>(dtype, a.elements, random);
  Tensor b_values = RandomTensor<T>(dtype, b.elements, random);
  Tensor c_values = RandomTensor<TC>(c_dtype, c.elements, random);
  Tensor d_values = RandomTensor<TC>(c_dtype, c.elements, random);
  Tensor bias_values = RandomTensor<TC>(c_dtype, n, random);
  std::vector<TC> found;
  for (bool is_first : {true, false}) {
    auto session = CreateSession(program, device);
    ASSERT_TRUE(session.ok()) << session.status();
    for (int time = 0; time != 2; ++time) {
      ASSERT_TRUE((*session)
                      ->Run("forward",
                            {{"a", a_values}, {"b", b_values}, {"c", c_values}, {"d", d_values}, {"bias", bias_values}})
                      .ok());
      absl::Span<const TC> values = (*session)->Output("forward", "out")->template values<TC>();
      if (is_first && time == 0)
        found.assign(values.begin(), values.end());
      ASSERT_EQ(std::memcmp(found.data(), values.data(), found.size() * sizeof(TC)), 0) << "seed " << seed;
    }
  }

  std::vector<double> expected(c_values.values<TC>().begin(), c_values.values<TC>().end());
  std::vector<int64_t> index(c.shape.size());
  for (int64_t i = 0, count = TensorView({c_dtype, Dims(c.shape.begin(), c.shape.end())}, nullptr).num_elements();
       i != count; ++i) {
    int64_t rest = i;
    for (size_t dim = index.size(); dim-- > 0; rest /= c.shape[dim])
      index[dim] = rest % c.shape[dim];
    std::vector<int64_t> a_index = index, b_index = index;
    a_index.back() = b_index[b_index.size() - 2] = 0;
    const T *a_row = a_values.values<T>().data() + Offset(a, a_index);
    const T *b_column = b_values.values<T>().data() + Offset(b, b_index);
    int64_t a_stride = a.strides.back();
    int64_t b_stride = b.strides[b.strides.size() - 2];
    double sum = 0;
    for (int64_t depth = 0; depth != k; ++depth)
      sum += static_cast<double>(a_row[depth * a_stride]) * static_cast<double>(b_column[depth * b_stride]);
    double &element = expected[Offset(c, index)];
    double added = has_addend    ? static_cast<double>(d_values.values<TC>()[Offset(c, index)])
                   : accumulates ? element
                                 : 0;
    element = sum + added;
    if (has_bias)
      element += static_cast<double>(bias_values.values<TC>()[index.back()]);
    if (relu)
      element = std::max(element, 0.0);
  }
  double bound = tolerance * std::sqrt(static_cast<double>(k));
  for (int64_t i = 0; i != c.elements; ++i)
    ASSERT_NEAR(static_cast<double>(found[i]), expected[i], bound * (1 + std::abs(expected[i])))
        << "seed " << seed << ", element " << i << ", m " << m << " n " << n << " k " << k;
}

TEST(GemmTest, F32MatchesDouble) {
  for (unsigned seed = 0; seed != 150; ++seed)
    ASSERT_NO_FATAL_FAILURE(CheckRandomGemm<float>(DType::kF32, DType::kF32, 2e-6, seed));
}

TEST(GemmTest, F64MatchesDouble) {
  for (unsigned seed = 1000; seed != 1150; ++seed)
    ASSERT_NO_FATAL_FAILURE(CheckRandomGemm<double>(DType::kF64, DType::kF64, 1e-14, seed));
}

TEST(GemmTest, Bf16MatchesDouble) {
  for (unsigned seed = 2000; seed != 2050; ++seed) {
    ASSERT_NO_FATAL_FAILURE((CheckRandomGemm<Eigen::bfloat16, float>(DType::kBF16, DType::kF32, 2e-6, seed)));
    ASSERT_NO_FATAL_FAILURE(CheckRandomGemm<Eigen::bfloat16>(DType::kBF16, DType::kBF16, 8e-3, seed));
  }
}

TEST(GemmTest, F16MatchesDouble) {
  for (unsigned seed = 2500; seed != 2550; ++seed) {
    ASSERT_NO_FATAL_FAILURE((CheckRandomGemm<Eigen::half, float>(DType::kF16, DType::kF32, 2e-6, seed)));
    ASSERT_NO_FATAL_FAILURE(CheckRandomGemm<Eigen::half>(DType::kF16, DType::kF16, 1e-3, seed));
  }
}

/// Types that oneDNN does not support on some processors.
TEST(GemmTest, NarrowGemmsNeedNoInstructions) {
  float a[6] = {1, 2, 3, 4, 5, 6};
  Eigen::bfloat16 narrow[6], result[4] = {};
  std::transform(a, a + 6, narrow, [](float value) { return static_cast<Eigen::bfloat16>(value); });
  const GemmMatrix c = {DType::kBF16, reinterpret_cast<char *>(result), 2, 2, 2, 1, {}};
  GemmProblem problem = {/*batch=*/{},
                         /*a=*/{DType::kBF16, reinterpret_cast<char *>(narrow), 2, 3, 3, 1, {}},
                         /*b=*/{DType::kBF16, reinterpret_cast<char *>(narrow), 3, 2, 1, 3, {}},
                         c,
                         /*d=*/c,
                         /*accumulate=*/false};
  auto command = PrepareNarrowGemm(problem);
  ASSERT_TRUE(command.ok()) << command.status();
  ASSERT_TRUE((*command)->Execute().ok());
  EXPECT_EQ(static_cast<float>(result[0]), 14);
  EXPECT_EQ(static_cast<float>(result[1]), 32);
  EXPECT_EQ(static_cast<float>(result[3]), 77);
  problem.b.dtype = DType::kF16;
  EXPECT_TRUE(absl::IsUnimplemented(PrepareNarrowGemm(problem).status()));
}

TEST(GemmTest, OnAGpuAllTypesMatchDouble) {
  if (auto info = QueryCuda(); !info.ok())
    GTEST_SKIP() << info.status();
  // Random problems are not worth storing in the cache.
  setenv("CS336_CACHE_DIR", absl::StrCat(::testing::TempDir(), "gemm-test-", getpid()).c_str(), 1);
  for (unsigned seed = 3000; seed != 3040; ++seed) {
    ASSERT_NO_FATAL_FAILURE(CheckRandomGemm<float>(DType::kF32, DType::kF32, 2e-6, seed, "cuda"));
    ASSERT_NO_FATAL_FAILURE(CheckRandomGemm<double>(DType::kF64, DType::kF64, 1e-14, seed, "cuda"));
    ASSERT_NO_FATAL_FAILURE((CheckRandomGemm<Eigen::bfloat16, float>(DType::kBF16, DType::kF32, 2e-6, seed, "cuda")));
    ASSERT_NO_FATAL_FAILURE(CheckRandomGemm<Eigen::bfloat16>(DType::kBF16, DType::kBF16, 8e-3, seed, "cuda"));
    ASSERT_NO_FATAL_FAILURE(CheckRandomGemm<Eigen::half>(DType::kF16, DType::kF16, 1e-3, seed, "cuda"));
  }
}

/// Computes ReLU of a row of dot products: a negative one, a positive one and
/// NaN.
template <typename T>
void CheckReLU(DType dtype, const std::string &device) {
  constexpr int kSize = 16; // A size that a GPU's library supports.
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(dtype, {kSize, kSize})), w = entry.Input("w", MakeType(dtype, {kSize, kSize}));
  uint32_t y = entry.Output("y", MakeType(dtype, {kSize, kSize}));
  entry.Gemm(x, w, y).relu = true;
  auto session = CreateSession(program, device);
  ASSERT_TRUE(session.ok()) << session.status();
  Tensor left = *Tensor::Create({dtype, {kSize, kSize}}), right = *Tensor::Create({dtype, {kSize, kSize}});
  for (int i = 0; i != kSize; ++i)
    left.mutable_values<T>()[i * kSize + i] = T(1);
  right.mutable_values<T>()[0] = T(-2);
  right.mutable_values<T>()[1] = T(3);
  right.mutable_values<T>()[kSize + 2] = std::numeric_limits<T>::quiet_NaN();
  ASSERT_TRUE((*session)->Run("forward", {{"x", left}, {"w", right}}).ok());
  auto found = (*session)->Output("forward", "y")->template values<T>();
  EXPECT_EQ(static_cast<double>(found[0]), 0);
  EXPECT_EQ(static_cast<double>(found[1]), 3);
  EXPECT_TRUE(std::isnan(static_cast<double>(found[2]))) << device << " " << Name(dtype);
}

TEST(GemmTest, ReLUKeepsNaN) {
  CheckReLU<float>(DType::kF32, "cpu");
  CheckReLU<double>(DType::kF64, "cpu");
  CheckReLU<Eigen::bfloat16>(DType::kBF16, "cpu");
  CheckReLU<Eigen::half>(DType::kF16, "cpu");
}

TEST(GemmTest, OnAGpuReLUKeepsNaN) {
  if (auto info = QueryCuda(); !info.ok())
    GTEST_SKIP() << info.status();
  setenv("CS336_CACHE_DIR", absl::StrCat(::testing::TempDir(), "relu-test-", getpid()).c_str(), 1);
  CheckReLU<float>(DType::kF32, "cuda");
  CheckReLU<double>(DType::kF64, "cuda");
  CheckReLU<Eigen::bfloat16>(DType::kBF16, "cuda");
  CheckReLU<Eigen::half>(DType::kF16, "cuda");
}

TEST(GemmTest, F64BitsDoNotDependOnThreads) {
  auto run = [](int threads) {
    ProgramBuilder program;
    EntryBuilder entry = program.Entry("forward");
    uint32_t x = entry.Input("x", MakeType(DType::kF64, {300, 300}));
    uint32_t y = entry.Output("y", MakeType(DType::kF64, {300, 300}));
    entry.Gemm(x, x, y);
    SessionOptions options;
    options.num_threads = threads;
    auto session = *Session::Create(*program.Build(), options);
    std::mt19937 random(5);
    Tensor flat = RandomTensor<double>(DType::kF64, 300 * 300, random);
    TensorView value({DType::kF64, {300, 300}}, flat.data());
    EXPECT_TRUE(session->Run("forward", {{"x", value}}).ok());
    absl::Span<const double> found = session->Output("forward", "y")->values<double>();
    return std::vector<double>(found.begin(), found.end());
  };
  EXPECT_EQ(run(1), run(3));
}

/// Squares (1 + 2^-12) by a GEMM of diagonal matrices: f32 keeps the cross
/// term, tf32 with its 10 bits loses it.
float SquareAlmostOne(format::Precision precision, const std::string &device) {
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {64, 64}));
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {64, 64}));
  entry.Gemm(x, x, y).precision = precision;
  auto session = *CreateSession(program, device);
  Tensor value = *Tensor::Create({DType::kF32, {64, 64}});
  for (int i = 0; i != 64; ++i)
    value.mutable_values<float>()[i * 64 + i] = 1 + 0x1p-12f;
  EXPECT_TRUE(session->Run("forward", {{"x", value}}).ok());
  return session->Output("forward", "y")->values<float>()[0];
}

TEST(GemmTest, PrecisionIeeeIsNotTf32) { EXPECT_EQ(SquareAlmostOne(format::Precision::ieee, "cpu"), 1 + 0x1p-11f); }

TEST(GemmTest, OnAGpuPrecisionIsWhatIsAskedFor) {
  if (auto info = QueryCuda(); !info.ok())
    GTEST_SKIP() << info.status();
  EXPECT_EQ(SquareAlmostOne(format::Precision::ieee, "cuda"), 1 + 0x1p-11f);
  float rounded = SquareAlmostOne(format::Precision::tf32, "cuda");
  // Under a sanitizer the fastest algorithm may not round.
  if (getenv("CS336_TEST_TOOL") && rounded != 1.0f)
    EXPECT_EQ(rounded, 1 + 0x1p-11f);
  else
    EXPECT_EQ(rounded, 1.0f);
}

} // namespace
} // namespace cs336::runtime
