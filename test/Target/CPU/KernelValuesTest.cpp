//===- KernelValuesTest.cpp - Single operations against references --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLibrary.h"
#include "KernelTexts.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

using namespace cs336::test;

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

class PointwiseSizes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, PointwiseSizes, testing::Values(1, 3, 17, 64, 1000));

TEST_P(PointwiseSizes, Chain) {
  KernelLibrary library(pointwiseChain(GetParam()));
  std::vector<float> x = randomFloats(GetParam()), y = randomFloats(GetParam(), -1, 1, 2), z(GetParam());
  std::vector<double> expected;
  for (int i = 0; i < GetParam(); ++i) {
    double half = 0.5 * x[i] / (1 + std::exp(-static_cast<double>(x[i])));
    expected.push_back(std::max<double>(half - y[i], y[i]));
  }
  library.run("chain", {x.data(), y.data(), z.data()}, 3);
  expectClose(z, expected, 1e-6, 1.0);
}

TEST_P(PointwiseSizes, ResultOverEitherOperand) {
  KernelLibrary library(pointwiseChain(GetParam()));
  std::vector<float> x = randomFloats(GetParam()), y = randomFloats(GetParam(), -1, 1, 2), z(GetParam());
  library.run("chain", {x.data(), y.data(), z.data()});
  std::vector<float> overX = x, overY = y;
  library.run("chain", {overX.data(), y.data(), overX.data()});
  library.run("chain", {x.data(), overY.data(), overY.data()}, 2);
  EXPECT_EQ(overX, z);
  EXPECT_EQ(overY, z);
}

TEST(Pointwise, PartsDoNotChangeBits) {
  KernelLibrary library(pointwiseChain(1000));
  std::vector<float> x = randomFloats(1000), y = randomFloats(1000, -1, 1, 2), whole(1000), parts(1000);
  library.run("chain", {x.data(), y.data(), whole.data()});
  library.run("chain", {x.data(), y.data(), parts.data()}, 7);
  EXPECT_EQ(whole, parts);
}

TEST(Pointwise, Strides) {
  // Columns 2 to 4 of rows of 7, and a transposed operand.
  KernelLibrary library(
      kernel("add", "%x: tensor<5x3xf32>, %y: tensor<5x3xf32>",
             "(memref<5x3xf32, strided<[7, 1]>>, memref<5x3xf32, strided<[1, 5]>>) -> memref<5x3xf32>",
             R"(
      %z = cs336.add %x, %y : tensor<5x3xf32>
      exec.yield %z : tensor<5x3xf32>)"));
  std::vector<float> x = randomFloats(35), y = randomFloats(15, -2, 2, 2), z(15);
  library.run("add", {x.data() + 2, y.data(), z.data()}, 2);
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 3; ++column)
      EXPECT_EQ(z[row * 3 + column], x[row * 7 + 2 + column] + y[column * 5 + row]);
}

TEST(Pointwise, EverySecondElementAndNoneAfterTheLast) {
  // The last element lies at the end of a page after which there is nothing.
  constexpr int kRows = 3, kColumns = 40, kElements = 2 * kRows * kColumns - 1;
  KernelLibrary library(kernel("neg", "%x: tensor<3x40xf32>",
                               "(memref<3x40xf32, strided<[80, 2]>>) -> memref<3x40xf32>",
                               R"(
      %y = cs336.neg %x : tensor<3x40xf32>
      exec.yield %y : tensor<3x40xf32>)"));
  size_t page = sysconf(_SC_PAGESIZE);
  void *pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<char *>(pages) + page, page, PROT_NONE), 0);
  float *x = reinterpret_cast<float *>(static_cast<char *>(pages) + page) - kElements;
  std::vector<float> values = randomFloats(kElements), y(kRows * kColumns);
  std::copy(values.begin(), values.end(), x);
  for (int parts : {1, 2}) {
    library.run("neg", {x, y.data()}, parts);
    for (int i = 0; i < kRows * kColumns; ++i)
      EXPECT_EQ(y[i], -values[2 * i]);
  }
  munmap(pages, 2 * page);
}

TEST(Pointwise, BroadcastOperandsWithStrideZero) {
  KernelLibrary library(kernel("scale", "%x: tensor<6x9xf32>, %w: tensor<6x9xf32>",
                               "(memref<6x9xf32>, memref<6x9xf32, strided<[0, 1]>>) -> memref<6x9xf32>", R"(
      %y = cs336.mul %x, %w : tensor<6x9xf32>
      exec.yield %y : tensor<6x9xf32>)"));
  std::vector<float> x = randomFloats(54), w = randomFloats(9), y(54);
  library.run("scale", {x.data(), w.data(), y.data()}, 2);
  for (int i = 0; i < 54; ++i)
    EXPECT_EQ(y[i], x[i] * w[i % 9]);
}

TEST(Pointwise, IntegersBooleansAndCasts) {
  KernelLibrary library(kernel("count", "%x: tensor<37xi64>, %p: tensor<37xi1>",
                               "(memref<37xi64>, memref<37xi1>) -> (memref<37xi1>, memref<37xf64>, memref<37xi32>)", R"(
      %three = cs336.constant dense<3> : tensor<37xi64>
      %big = cs336.compare gt %x, %three : tensor<37xi64>
      %zero = cs336.constant dense<0> : tensor<37xi64>
      %s = cs336.select %p, %x, %zero : tensor<37xi64>
      %n = cs336.neg %s : tensor<37xi64>
      %f = cs336.cast %n : tensor<37xi64> -> tensor<37xf64>
      %b = cs336.cast %p : tensor<37xi1> -> tensor<37xi32>
      exec.yield %big, %f, %b : tensor<37xi1>, tensor<37xf64>, tensor<37xi32>)"));
  std::vector<int64_t> x(37);
  std::iota(x.begin(), x.end(), -10);
  std::vector<uint8_t> p(37), big(37, 0xff);
  for (int i = 0; i < 37; ++i)
    p[i] = i % 3 == 0;
  std::vector<double> f(37);
  std::vector<int32_t> b(37);
  library.run("count", {x.data(), p.data(), big.data(), f.data(), b.data()}, 2);
  for (int i = 0; i < 37; ++i) {
    EXPECT_EQ(big[i], x[i] > 3);
    EXPECT_EQ(f[i], p[i] ? -static_cast<double>(x[i]) : 0.0);
    EXPECT_EQ(b[i], p[i]);
  }
}

TEST(Pointwise, Bf16RoundsToNearestEven) {
  KernelLibrary library(
      kernel("round", "%x: tensor<100xf32>, %b: tensor<100xbf16>",
             "(memref<100xf32>, memref<100xbf16>) -> (memref<100xbf16>, memref<100xbf16>, memref<100xbf16>)",
             R"(
      %y = cs336.cast %x : tensor<100xf32> -> tensor<100xbf16>
      %z = cs336.add %y, %b : tensor<100xbf16>
      %p = cs336.compare lt %y, %b : tensor<100xbf16>
      %s = cs336.select %p, %y, %b : tensor<100xbf16>
      exec.yield %y, %z, %s : tensor<100xbf16>, tensor<100xbf16>, tensor<100xbf16>)"));
  std::vector<float> x = randomFloats(100);
  x[0] = 1.00390625f; // Halfway between two: to the even one.
  x[1] = INFINITY;
  x[2] = NAN;
  std::vector<uint16_t> b(100), y(100), z(100), least(100);
  for (int i = 0; i < 100; ++i)
    b[i] = toBf16(x[(i + 50) % 100]);
  library.run("round", {x.data(), b.data(), y.data(), z.data(), least.data()});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(least[i], fromBf16(y[i]) < fromBf16(b[i]) ? y[i] : b[i]);
    if (std::isnan(x[i]) || std::isnan(fromBf16(b[i]))) {
      EXPECT_TRUE(std::isnan(fromBf16(z[i])));
      continue;
    }
    EXPECT_EQ(y[i], toBf16(x[i]));
    EXPECT_EQ(z[i], toBf16(fromBf16(y[i]) + fromBf16(b[i])));
  }
}

TEST(Pointwise, CausalMaskFromIotas) {
  KernelLibrary library(kernel("mask", "%s: tensor<2x5x7xf32>", "(memref<2x5x7xf32>) -> memref<2x5x7xf32>", R"(
      %q = cs336.iota axis = 1 : tensor<2x5x7xi32>
      %k = cs336.iota axis = 2 : tensor<2x5x7xi32>
      %visible = cs336.compare ge %q, %k : tensor<2x5x7xi32>
      %hidden = cs336.constant dense<0xFF800000> : tensor<2x5x7xf32>
      %y = cs336.select %visible, %s, %hidden : tensor<2x5x7xf32>
      exec.yield %y : tensor<2x5x7xf32>)"));
  std::vector<float> s = randomFloats(70), y(70);
  library.run("mask", {s.data(), y.data()}, 3);
  for (int i = 0; i < 70; ++i)
    EXPECT_EQ(y[i], i / 7 % 5 >= i % 7 ? s[i] : -INFINITY);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

struct Function {
  const char *name;
  double (*reference)(double);
  float low, high;
  /// Results below this magnitude need only be below it.
  double smallest = 0;
};
class Functions : public testing::TestWithParam<Function> {};
static double rsqrtOf(double x) { return 1 / std::sqrt(x); }
static double sigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
INSTANTIATE_TEST_SUITE_P(All, Functions,
                         testing::Values(Function{"exp", std::exp, -110, 95}, Function{"log", std::log, 0, 1e4f},
                                         Function{"tanh", std::tanh, -12, 12}, Function{"erf", std::erf, -6, 6},
                                         Function{"sin", std::sin, -1e4f, 1e4f}, Function{"cos", std::cos, -1e4f, 1e4f},
                                         Function{"sqrt", std::sqrt, 0, 1e6f}, Function{"rsqrt", rsqrtOf, 0, 1e6f},
                                         Function{"sigmoid", sigmoidOf, -90, 90, 1.2e-38}),
                         [](const auto &info) { return info.param.name; });

/// Arguments over the function's range, every power of two, and what is special.
static std::vector<float> getArguments(const Function &function) {
  std::vector<float> x = randomFloats(100000, function.low, function.high);
  for (int exponent = -149; exponent < 128; ++exponent)
    for (float sign : {1.0f, -1.0f})
      for (float mantissa : {1.0f, 1.2345f, 1.7071f})
        x.push_back(sign * std::ldexp(mantissa, exponent));
  for (float special : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 88.7f, 88.73f, -87.4f, -103.9f, -104.1f})
    x.push_back(special);
  return x;
}

TEST_P(Functions, Float32) {
  std::vector<float> x = getArguments(GetParam()), y(x.size());
  KernelLibrary library(functionKernel(GetParam().name, x.size(), "f32"));
  library.run("f", {x.data(), y.data()}, 3);
  double worst = 0, worstAt = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = GetParam().reference(x[i]);
    float rounded = static_cast<float>(exact);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(y[i])) << x[i];
      continue;
    }
    if (!std::isfinite(rounded)) {
      EXPECT_EQ(y[i], rounded) << x[i];
      continue;
    }
    if (std::abs(exact) < GetParam().smallest) {
      EXPECT_LT(std::abs(y[i]), GetParam().smallest) << x[i];
      continue;
    }
    int exponent = std::max(std::ilogb(rounded), -126);
    double error = std::abs(y[i] - exact) / std::ldexp(1.0, rounded == 0 ? -149 : exponent - 23);
    if (error > worst) {
      worst = error;
      worstAt = x[i];
    }
  }
  EXPECT_LE(worst, 2.0) << "units in the last place, at " << worstAt;
  RecordProperty("worst_ulp", std::to_string(worst));
}

/// Levels that this machine has: registers of different widths.
static std::vector<std::string> getInstructionSets() {
  std::vector<std::string> names = {"host", "generic"};
#ifdef __x86_64__
  if (__builtin_cpu_supports("x86-64-v3"))
    names.push_back("x86-64-v3");
#endif
  return names;
}

/// An element is the same in every lane of a vector and in what vectors leave over, wherever threads' shares begin.
TEST_P(Functions, PositionDoesNotChangeBits) {
  constexpr int kCount = 331;
  for (const std::string &cpu : getInstructionSets()) {
    KernelLibrary library(functionKernel(GetParam().name, kCount, "f32"), cpu);
    for (float argument : randomFloats(8, GetParam().low / 2, GetParam().high / 2)) {
      std::vector<float> x(kCount, argument), y(kCount), parts(kCount);
      library.run("f", {x.data(), y.data()});
      library.run("f", {x.data(), parts.data()}, 9);
      EXPECT_EQ(y, std::vector<float>(kCount, y.front())) << argument << " on " << cpu;
      EXPECT_EQ(parts, y) << argument << " on " << cpu;
    }
  }
}

TEST_P(Functions, Float64) {
  std::vector<float> narrow = getArguments(GetParam());
  std::vector<double> x(narrow.begin(), narrow.end()), y(x.size()), expected;
  for (double value : x)
    expected.push_back(GetParam().reference(value));
  KernelLibrary library(functionKernel(GetParam().name, x.size(), "f64"));
  library.run("f", {x.data(), y.data()}, 2);
  expectClose(y, expected, 1e-14, 1e-300);
}

TEST(Functions, Pow) {
  KernelLibrary library(kernel("f", "%x: tensor<1001xf32>, %y: tensor<1001xf32>",
                               "(memref<1001xf32>, memref<1001xf32>) -> memref<1001xf32>", R"(
      %z = cs336.pow %x, %y : tensor<1001xf32>
      exec.yield %z : tensor<1001xf32>)"));
  std::vector<float> x = randomFloats(1001, 0, 100), y = randomFloats(1001, -15, 15, 2), z(1001);
  x[0] = -3.0f, y[0] = 3.0f;
  std::vector<double> expected;
  for (int i = 0; i < 1001; ++i)
    expected.push_back(static_cast<float>(std::pow(static_cast<double>(x[i]), y[i])));
  library.run("f", {x.data(), y.data(), z.data()});
  expectClose(z, expected, 2e-7);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

struct Reduction {
  std::vector<int64_t> shape;
  std::vector<int64_t> axes;
};
class Reductions : public testing::TestWithParam<Reduction> {};
INSTANTIATE_TEST_SUITE_P(Axes, Reductions,
                         testing::Values(Reduction{{1}, {0}}, Reduction{{1000}, {0}}, Reduction{{100003}, {0}},
                                         Reduction{{17, 1000}, {1}}, Reduction{{17, 1000}, {0}},
                                         Reduction{{17, 1000}, {0, 1}}, Reduction{{3, 17, 5, 4}, {0}},
                                         Reduction{{3, 17, 5, 4}, {1}}, Reduction{{3, 17, 5, 4}, {2}},
                                         Reduction{{3, 17, 5, 4}, {3}}, Reduction{{3, 17, 5, 4}, {0, 2}},
                                         Reduction{{3, 17, 5, 4}, {1, 3}}, Reduction{{3, 17, 5, 4}, {0, 1, 2, 3}},
                                         Reduction{{3, 1, 9}, {1}}, Reduction{{3, 1, 9}, {2}},
                                         Reduction{{2000, 3}, {0}}, Reduction{{3, 10000}, {1}}));

static std::string join(const std::vector<int64_t> &numbers, const std::string &separator) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : separator) + std::to_string(number);
  return text;
}

static std::vector<int64_t> reducedShape(const Reduction &reduction) {
  std::vector<int64_t> kept;
  for (size_t axis = 0; axis < reduction.shape.size(); ++axis)
    if (std::find(reduction.axes.begin(), reduction.axes.end(), axis) == reduction.axes.end())
      kept.push_back(reduction.shape[axis]);
  return kept;
}

/// The index in the result of each element of the operand.
static std::vector<size_t> reducedPositions(const Reduction &reduction) {
  size_t count = 1;
  for (int64_t size : reduction.shape)
    count *= size;
  std::vector<size_t> positions;
  for (size_t element = 0; element < count; ++element) {
    std::vector<int64_t> index(reduction.shape.size());
    size_t rest = element;
    for (size_t axis = reduction.shape.size(); axis-- > 0;) {
      index[axis] = rest % reduction.shape[axis];
      rest /= reduction.shape[axis];
    }
    size_t position = 0;
    for (size_t axis = 0; axis < reduction.shape.size(); ++axis)
      if (std::find(reduction.axes.begin(), reduction.axes.end(), axis) == reduction.axes.end())
        position = position * reduction.shape[axis] + index[axis];
    positions.push_back(position);
  }
  return positions;
}

static std::string reductionKernel(const Reduction &reduction, const std::string &kind, const std::string &type) {
  std::vector<int64_t> kept = reducedShape(reduction);
  std::string result = kept.empty() ? type : join(kept, "x") + "x" + type;
  return fill(
      kernel("r", "%x: tensor<{s}>", "(memref<{s}>) -> memref<{r}>", R"(
      %y = cs336.reduce {k} %x axes = [{a}] : tensor<{s}> -> tensor<{r}>
      exec.yield %y : tensor<{r}>)"),
      {{"s", join(reduction.shape, "x") + "x" + type}, {"r", result}, {"k", kind}, {"a", join(reduction.axes, ", ")}});
}

static size_t countElements(const std::vector<int64_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t(1), std::multiplies<>());
}

TEST_P(Reductions, Sum) {
  std::vector<size_t> positions = reducedPositions(GetParam());
  std::vector<float> x = randomFloats(positions.size(), 0, 2), y(countElements(reducedShape(GetParam())), NAN);
  std::vector<double> expected(y.size());
  for (size_t i = 0; i < x.size(); ++i)
    expected[positions[i]] += x[i];
  for (const std::string &cpu : getInstructionSets()) {
    KernelLibrary library(reductionKernel(GetParam(), "sum", "f32"), cpu);
    std::fill(y.begin(), y.end(), NAN);
    library.run("r", {x.data(), y.data()}, 3);
    expectClose(y, expected, 1e-6);
    std::vector<float> whole(y.size());
    library.run("r", {x.data(), whole.data()});
    EXPECT_EQ(whole, y) << "shares of threads on " << cpu;
  }
}

TEST_P(Reductions, MaxWithInfinitiesAndNaN) {
  KernelLibrary library(reductionKernel(GetParam(), "max", "f32"));
  std::vector<size_t> positions = reducedPositions(GetParam());
  std::vector<float> x = randomFloats(positions.size(), -3, -1), y(countElements(reducedShape(GetParam())));
  x[0] = -INFINITY;
  x.back() = NAN;
  std::vector<double> expected(y.size(), -INFINITY);
  for (size_t i = 0; i < x.size(); ++i)
    expected[positions[i]] = std::isnan(x[i]) ? NAN : std::max<double>(expected[positions[i]], x[i]);
  library.run("r", {x.data(), y.data()}, 2);
  expectClose(y, expected, 0);
}

TEST_P(Reductions, Bf16AccumulatesInFloat32) {
  KernelLibrary library(reductionKernel(GetParam(), "sum", "bf16"));
  std::vector<size_t> positions = reducedPositions(GetParam());
  std::vector<float> values = randomFloats(positions.size(), 0, 2);
  std::vector<uint16_t> x, y(countElements(reducedShape(GetParam())));
  std::vector<double> expected(y.size());
  for (size_t i = 0; i < values.size(); ++i) {
    x.push_back(toBf16(values[i]));
    expected[positions[i]] += fromBf16(x.back());
  }
  library.run("r", {x.data(), y.data()}, 2);
  std::vector<float> wide;
  for (uint16_t bits : y)
    wide.push_back(fromBf16(bits));
  expectClose(wide, expected, 1.0 / 256);
}

TEST_P(Reductions, Integers) {
  KernelLibrary library(reductionKernel(GetParam(), "sum", "i64"));
  std::vector<size_t> positions = reducedPositions(GetParam());
  std::vector<int64_t> x(positions.size()), y(countElements(reducedShape(GetParam()))), expected(y.size());
  std::iota(x.begin(), x.end(), -7);
  for (size_t i = 0; i < x.size(); ++i)
    expected[positions[i]] += x[i];
  library.run("r", {x.data(), y.data()}, 2);
  EXPECT_EQ(y, expected);
}
