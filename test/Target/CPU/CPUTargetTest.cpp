//===- CPUTargetTest.cpp - Compiled kernels against scalar references -----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLibrary.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

using namespace cs336::test;
using testing::Contains;
using testing::HasSubstr;

static std::vector<float> randomFloats(size_t count, float low = -2.0f, float high = 2.0f, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

/// |actual − expected| ≤ tolerance·max(|expected|, scale), and equal where either is not finite.
template <typename Real>
static void expectClose(const std::vector<Real> &actual, const std::vector<double> &expected, double tolerance,
                        double scale = 0.0) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << "at " << i;
      continue;
    }
    if (!std::isfinite(expected[i])) {
      EXPECT_EQ(static_cast<double>(actual[i]), expected[i]) << "at " << i;
      continue;
    }
    ASSERT_NEAR(actual[i], expected[i], tolerance * std::max(std::abs(expected[i]), scale)) << "at " << i;
  }
}

/// Replaces every `{key}` of the text.
static std::string fill(std::string text, const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[key, value] : values)
    for (size_t at = 0; (at = text.find("{" + key + "}", at)) != std::string::npos; at += value.size())
      text.replace(at, key.size() + 2, value);
  return text;
}

static std::string kernel(const std::string &name, const std::string &arguments, const std::string &signature,
                          const std::string &body) {
  return "exec.kernel @" + name + "(" + arguments + ") : " + signature + " {\n" + body + "\n}\n";
}

static float fromBf16(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}
static uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

class PointwiseSizes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, PointwiseSizes, testing::Values(1, 3, 17, 64, 1000));

static std::string pointwiseChain(int size) {
  return fill(kernel("chain", "%x: tensor<{n}xf32>, %y: tensor<{n}xf32>",
                     "(memref<{n}xf32>, memref<{n}xf32>) -> memref<{n}xf32>", R"(
      %half = cs336.constant dense<5.0e-01> : tensor<{n}xf32>
      %s = cs336.sigmoid %x : tensor<{n}xf32>
      %m = cs336.mul %s, %x : tensor<{n}xf32>
      %h = cs336.mul %m, %half : tensor<{n}xf32>
      %d = cs336.sub %h, %y : tensor<{n}xf32>
      %z = cs336.max %d, %y : tensor<{n}xf32>
      exec.yield %z : tensor<{n}xf32>)"),
              {{"n", std::to_string(size)}});
}

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

static std::string functionKernel(const std::string &name, int size, const std::string &type) {
  return fill(kernel("f", "%x: tensor<{n}x{t}>", "(memref<{n}x{t}>) -> memref<{n}x{t}>", R"(
      %y = cs336.{f} %x : tensor<{n}x{t}>
      exec.yield %y : tensor<{n}x{t}>)"),
              {{"n", std::to_string(size)}, {"t", type}, {"f", name}});
}

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

/// Where each element of the operand goes in the result.
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
  KernelLibrary library(reductionKernel(GetParam(), "sum", "f32"));
  std::vector<size_t> positions = reducedPositions(GetParam());
  std::vector<float> x = randomFloats(positions.size(), 0, 2), y(countElements(reducedShape(GetParam())), NAN);
  std::vector<double> expected(y.size());
  for (size_t i = 0; i < x.size(); ++i)
    expected[positions[i]] += x[i];
  library.run("r", {x.data(), y.data()}, 3);
  expectClose(y, expected, 1e-6);
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

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static std::string softmaxKernel(int rows, int columns) {
  return fill(kernel("softmax", "%x: tensor<{r}x{c}xf32>", "(memref<{r}x{c}xf32>) -> memref<{r}x{c}xf32>", R"(
      %m = cs336.reduce max %x axes = [1] : tensor<{r}x{c}xf32> -> tensor<{r}xf32>
      %mb = cs336.broadcast %m dims = [0] : tensor<{r}xf32> -> tensor<{r}x{c}xf32>
      %d = cs336.sub %x, %mb : tensor<{r}x{c}xf32>
      %e = cs336.exp %d : tensor<{r}x{c}xf32>
      %s = cs336.reduce sum %e axes = [1] : tensor<{r}x{c}xf32> -> tensor<{r}xf32>
      %sb = cs336.broadcast %s dims = [0] : tensor<{r}xf32> -> tensor<{r}x{c}xf32>
      %y = cs336.div %e, %sb : tensor<{r}x{c}xf32>
      exec.yield %y : tensor<{r}x{c}xf32>)"),
              {{"r", std::to_string(rows)}, {"c", std::to_string(columns)}});
}

TEST(Groups, SoftmaxKeepsOneRow) {
  for (auto [rows, columns] : {std::pair(1, 1), std::pair(5, 3), std::pair(7, 1000), std::pair(3, 20000)}) {
    KernelLibrary library(softmaxKernel(rows, columns));
    EXPECT_EQ(library.getObject().kernels.find("softmax")->second.rows, rows);
    std::vector<float> x = randomFloats(rows * columns, -30, 30), y(x.size());
    if (columns > 2)
      x[1] = -INFINITY;
    library.run("softmax", {x.data(), y.data()}, 2);
    std::vector<double> expected;
    for (int row = 0; row < rows; ++row) {
      double sum = 0;
      float top = *std::max_element(&x[row * columns], &x[row * columns] + columns);
      // The difference is a float32 in the program; what matters is what follows.
      auto exponential = [&](int column) { return std::exp(static_cast<double>(x[row * columns + column] - top)); };
      for (int column = 0; column < columns; ++column)
        sum += exponential(column);
      for (int column = 0; column < columns; ++column)
        expected.push_back(exponential(column) / sum);
    }
    expectClose(y, expected, 2e-6, 1e-30);
  }
}

TEST(Groups, RMSNorm) {
  KernelLibrary library(kernel("norm", "%x: tensor<2x9x50xf32>, %w: tensor<50xf32>",
                               "(memref<2x9x50xf32>, memref<50xf32>) -> (memref<2x9x50xf32>, memref<2x9xf32>)", R"(
      %sq = cs336.mul %x, %x : tensor<2x9x50xf32>
      %s = cs336.reduce sum %sq axes = [2] : tensor<2x9x50xf32> -> tensor<2x9xf32>
      %scale = cs336.constant dense<2.0e-02> : tensor<2x9xf32>
      %mean = cs336.mul %s, %scale : tensor<2x9xf32>
      %eps = cs336.constant dense<1.0e-05> : tensor<2x9xf32>
      %me = cs336.add %mean, %eps : tensor<2x9xf32>
      %r = cs336.rsqrt %me : tensor<2x9xf32>
      %rb = cs336.broadcast %r dims = [0, 1] : tensor<2x9xf32> -> tensor<2x9x50xf32>
      %n = cs336.mul %x, %rb : tensor<2x9x50xf32>
      %wb = cs336.broadcast %w dims = [2] : tensor<50xf32> -> tensor<2x9x50xf32>
      %y = cs336.mul %n, %wb : tensor<2x9x50xf32>
      exec.yield %y, %r : tensor<2x9x50xf32>, tensor<2x9xf32>)"));
  std::vector<float> x = randomFloats(900), w = randomFloats(50, -1, 1, 2), y(900), r(18);
  library.run("norm", {x.data(), w.data(), y.data(), r.data()}, 3);
  std::vector<double> expected, expectedR;
  for (int row = 0; row < 18; ++row) {
    double sum = 0;
    for (int i = 0; i < 50; ++i)
      sum += static_cast<double>(x[row * 50 + i]) * x[row * 50 + i];
    expectedR.push_back(1 / std::sqrt(sum / 50 + 1e-5));
    for (int i = 0; i < 50; ++i)
      expected.push_back(x[row * 50 + i] * expectedR.back() * w[i]);
  }
  expectClose(y, expected, 1e-6);
  expectClose(r, expectedR, 1e-6);
}

TEST(Groups, SumPlusItsTransposeSharesNoRows) {
  KernelLibrary library(kernel("symmetric", "%x: tensor<6x6xf32>", "(memref<6x6xf32>) -> memref<6x6xf32>", R"(
      %e = cs336.exp %x : tensor<6x6xf32>
      %t = cs336.transpose %e perm = [1, 0] : tensor<6x6xf32> -> tensor<6x6xf32>
      %y = cs336.add %e, %t : tensor<6x6xf32>
      exec.yield %y : tensor<6x6xf32>)"));
  std::vector<float> x = randomFloats(36), y(36);
  library.run("symmetric", {x.data(), y.data()}, 2);
  std::vector<double> expected;
  for (int i = 0; i < 36; ++i)
    expected.push_back(std::exp(x[i]) + std::exp(x[i % 6 * 6 + i / 6]));
  expectClose(y, expected, 1e-6);
}

TEST(Groups, MeanOverAllIsSubtractedFromAll) {
  KernelLibrary library(kernel("center", "%x: tensor<7x11xf32>", "(memref<7x11xf32>) -> memref<7x11xf32>", R"(
      %s = cs336.reduce sum %x axes = [0, 1] : tensor<7x11xf32> -> tensor<f32>
      %c = cs336.constant dense<77.0> : tensor<f32>
      %m = cs336.div %s, %c : tensor<f32>
      %b = cs336.broadcast %m dims = [] : tensor<f32> -> tensor<7x11xf32>
      %y = cs336.sub %x, %b : tensor<7x11xf32>
      exec.yield %y : tensor<7x11xf32>)"));
  std::vector<float> x = randomFloats(77), y(77);
  library.run("center", {x.data(), y.data()}, 2);
  double mean = std::accumulate(x.begin(), x.end(), 0.0) / 77;
  std::vector<double> expected;
  for (float value : x)
    expected.push_back(value - mean);
  expectClose(y, expected, 1e-6, 1.0);
}

TEST(Groups, AdamWInPlace) {
  KernelLibrary library(kernel(
      "adamw",
      "%p: tensor<33x7xf32>, %g: tensor<33x7xf32>, %m: tensor<33x7xf32>, %v: tensor<33x7xf32>, %lr: tensor<f32>, "
      "%c1: tensor<f32>, %c2: tensor<f32>, %s: tensor<f32>, %a: tensor<i1>",
      "(memref<33x7xf32>, memref<33x7xf32>, memref<33x7xf32>, memref<33x7xf32>, memref<f32>, memref<f32>, memref<f32>, "
      "memref<f32>, memref<i1>) -> (memref<33x7xf32>, memref<33x7xf32>, memref<33x7xf32>)",
      R"(
      %p1, %m1, %v1 = cs336.adamw %p, %g, %m, %v lr = %lr, correction1 = %c1, correction2 = %c2, scale = %s, apply = %a
          {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}
          : tensor<33x7xf32>, tensor<33x7xf32>, tensor<33x7xf32>, tensor<f32>
      exec.yield %p1, %m1, %v1 : tensor<33x7xf32>, tensor<33x7xf32>, tensor<33x7xf32>)"));
  std::vector<float> p = randomFloats(231), g = randomFloats(231, -1, 1, 2), m = randomFloats(231, -1, 1, 3),
                     v = randomFloats(231, 0, 1, 4), p0 = p, m0 = m, v0 = v;
  float lr = 1e-2f, c1 = 0.19f, c2 = 0.0975f, s = 0.5f;
  uint8_t apply = 0;
  std::vector<void *> buffers = {p.data(), g.data(), m.data(), v.data(), &lr,      &c1,
                                 &c2,      &s,       &apply,   p.data(), m.data(), v.data()};
  library.run("adamw", buffers, 3);
  EXPECT_EQ(p, p0);
  EXPECT_EQ(m, m0);
  EXPECT_EQ(v, v0);
  apply = 1;
  library.run("adamw", buffers, 3);
  std::vector<double> newP, newM, newV;
  for (int i = 0; i < 231; ++i) {
    double gradient = g[i] * 0.5;
    newM.push_back(0.9 * m0[i] + 0.1 * gradient);
    newV.push_back(0.95 * v0[i] + 0.05 * gradient * gradient);
    double decayed = p0[i] - 1e-2 * 0.1 * p0[i];
    newP.push_back(decayed - 1e-2 * (newM[i] / c1) / (std::sqrt(newV[i] / c2) + 1e-8));
  }
  expectClose(p, newP, 1e-6, 0.1);
  expectClose(m, newM, 1e-6, 0.1);
  expectClose(v, newV, 1e-6, 0.1);
}

//===----------------------------------------------------------------------===//
// Layout, gathers, scatters
//===----------------------------------------------------------------------===//

TEST(Layout, PadSliceConcatTransposeReshape) {
  KernelLibrary library(
      kernel("pad", "%x: tensor<3x2x4xf32>", "(memref<3x2x4xf32>) -> memref<3x5x6xf32>", R"(
      %y = cs336.pad %x offsets = [0, 3, 1] : tensor<3x2x4xf32> -> tensor<3x5x6xf32>
      exec.yield %y : tensor<3x5x6xf32>)") +
      kernel("slice", "%x: tensor<3x5x6xf32>", "(memref<3x5x6xf32>) -> memref<3x2x4xf32>", R"(
      %y = cs336.slice %x offsets = [0, 3, 1] : tensor<3x5x6xf32> -> tensor<3x2x4xf32>
      exec.yield %y : tensor<3x2x4xf32>)") +
      kernel("concat", "%x: tensor<3x8x1xf32>, %y: tensor<3x8x2xf32>",
             "(memref<3x8x1xf32>, memref<3x8x2xf32>) -> memref<3x8x3xf32>", R"(
      %z = cs336.concat axis = 2 %x, %y : tensor<3x8x1xf32>, tensor<3x8x2xf32> -> tensor<3x8x3xf32>
      exec.yield %z : tensor<3x8x3xf32>)") +
      kernel("reshape", "%x: tensor<4x6xf32>", "(memref<4x6xf32, strided<[1, 4]>>) -> memref<3x8xf32>", R"(
      %t = cs336.transpose %x perm = [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
      %u = cs336.transpose %t perm = [1, 0] : tensor<6x4xf32> -> tensor<4x6xf32>
      %y = cs336.reshape %u : tensor<4x6xf32> -> tensor<3x8xf32>
      exec.yield %y : tensor<3x8xf32>)"));
  std::vector<float> x = randomFloats(24), padded(90, NAN), back(24);
  library.run("pad", {x.data(), padded.data()}, 2);
  for (int i = 0; i < 90; ++i) {
    int a = i / 30, b = i / 6 % 5 - 3, c = i % 6 - 1;
    bool inside = b >= 0 && b < 2 && c >= 0 && c < 4;
    EXPECT_EQ(padded[i], inside ? x[a * 8 + b * 4 + c] : 0.0f) << i;
  }
  library.run("slice", {padded.data(), back.data()}, 2);
  EXPECT_EQ(back, x);

  std::vector<float> y = randomFloats(48), joined(72);
  library.run("concat", {x.data(), y.data(), joined.data()}, 3);
  for (int i = 0; i < 72; ++i)
    EXPECT_EQ(joined[i], i % 3 == 0 ? x[i / 3] : y[i / 3 * 2 + i % 3 - 1]);

  std::vector<float> reshaped(24);
  library.run("reshape", {x.data(), reshaped.data()}, 2);
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(reshaped[i], x[i % 6 * 4 + i / 6]);
}

TEST(Layout, ConstantTable) {
  KernelLibrary library(
      kernel("table", "%x: tensor<2x3xf32>", "(memref<2x3xf32>) -> (memref<2x3xf32>, memref<2x3xi1>)", R"(
      %t = cs336.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
      %y = cs336.add %x, %t : tensor<2x3xf32>
      %b = cs336.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
      exec.yield %y, %b : tensor<2x3xf32>, tensor<2x3xi1>)"));
  std::vector<float> x = randomFloats(6), y(6);
  std::vector<uint8_t> b(6, 7);
  library.run("table", {x.data(), y.data(), b.data()});
  EXPECT_THAT(b, testing::ElementsAre(1, 0, 1, 0, 0, 1));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(y[i], x[i] + (i + 1));
}

TEST(Layout, EmbeddingAndItsGradient) {
  KernelLibrary library(kernel("gather", "%t: tensor<11x19xf32>, %i: tensor<2x8xi64>",
                               "(memref<11x19xf32>, memref<2x8xi64>) -> memref<2x8x19xf32>", R"(
      %y = cs336.embedding %t, %i : tensor<11x19xf32>, tensor<2x8xi64> -> tensor<2x8x19xf32>
      exec.yield %y : tensor<2x8x19xf32>)") +
                        kernel("scatter", "%i: tensor<2x8xi64>, %g: tensor<2x8x19xf32>",
                               "(memref<2x8xi64>, memref<2x8x19xf32>) -> memref<11x19xf32>", R"(
      %t = cs336.embedding_grad %i, %g : tensor<2x8xi64>, tensor<2x8x19xf32> -> tensor<11x19xf32>
      exec.yield %t : tensor<11x19xf32>)"));
  std::vector<float> table = randomFloats(11 * 19), rows(16 * 19), gradient(11 * 19, NAN);
  std::vector<int64_t> ids = {3, 0, 3, 10, 7, 3, 1, 1, 9, 0, 0, 0, 5, 3, 2, 10};
  library.run("gather", {table.data(), ids.data(), rows.data()}, 3);
  std::vector<float> expected(11 * 19);
  for (int position = 0; position < 16; ++position)
    for (int column = 0; column < 19; ++column) {
      EXPECT_EQ(rows[position * 19 + column], table[ids[position] * 19 + column]);
      expected[ids[position] * 19 + column] += rows[position * 19 + column];
    }
  library.run("scatter", {ids.data(), rows.data(), gradient.data()}, 2);
  EXPECT_EQ(gradient, expected);
}

//===----------------------------------------------------------------------===//
// Instruction sets, objects, refusals
//===----------------------------------------------------------------------===//

TEST(Object, NamesWhatItNeeds) {
  Compiler compiler;
  auto v3 = compiler.compile(pointwiseChain(8), "x86-64-v3");
  ASSERT_TRUE(succeeded(v3)) << compiler.diagnostics;
  EXPECT_EQ(v3->objects.front().target, "x86_64");
  EXPECT_THAT(v3->objects.front().features, Contains("avx2"));
  EXPECT_THAT(v3->objects.front().features, Contains("fma"));
  EXPECT_THAT(v3->objects.front().features, testing::Not(Contains("avx512f")));
  std::string image(v3->objects.front().image.begin(), v3->objects.front().image.end());
  EXPECT_THAT(image, HasSubstr("libm.so.6"));
  EXPECT_TRUE(compiler.compile(pointwiseChain(8), "generic")->objects.front().features.empty());
}

TEST(Object, InstructionSetsAgree) {
  std::vector<float> x = randomFloats(1000), y = randomFloats(1000, -1, 1, 2), host(1000), baseline(1000);
  KernelLibrary(pointwiseChain(1000)).run("chain", {x.data(), y.data(), host.data()});
  KernelLibrary(pointwiseChain(1000), "generic").run("chain", {x.data(), y.data(), baseline.data()});
  expectClose(host, std::vector<double>(baseline.begin(), baseline.end()), 1e-6, 1.0);
}

TEST(Object, IsTheSameEveryTime) {
  std::string text = softmaxKernel(4, 8) + pointwiseChain(9) + functionKernel("tanh", 5, "f32");
  Compiler first, second;
  EXPECT_EQ(first.compile(text)->objects.front().image, second.compile(text)->objects.front().image);
}

TEST(Object, MayHoldNoKernel) {
  KernelLibrary library("");
  EXPECT_TRUE(library.getObject().kernels.empty());
}

TEST(Object, TinyKernelsStayOnOneThread) {
  KernelLibrary library(pointwiseChain(1000) + softmaxKernel(4096, 1024));
  const auto &kernels = library.getObject().kernels;
  EXPECT_GE(kernels.find("chain")->second.grain, kernels.find("chain")->second.rows);
  EXPECT_LT(kernels.find("softmax")->second.grain, 100);
}

TEST(Refusals, UnknownInstructionSet) {
  Compiler compiler;
  EXPECT_TRUE(failed(compiler.compile(pointwiseChain(8), "x86-64-v9")));
  EXPECT_THAT(compiler.diagnostics, HasSubstr("no instruction set 'x86-64-v9'"));
  EXPECT_THAT(compiler.diagnostics, HasSubstr("x86-64-v3"));
}

TEST(Refusals, HalfWithoutInstructionsForIt) {
  Compiler compiler;
  EXPECT_TRUE(failed(compiler.compile(functionKernel("exp", 8, "f16"), "x86-64-v2")));
  EXPECT_THAT(compiler.diagnostics, HasSubstr("compile for x86-64-v3"));
}

TEST(Refusals, TooMuchBetweenOperations) {
  Compiler compiler;
  std::string text = kernel("wide", "%x: tensor<1024x1024xf32>", "(memref<1024x1024xf32>) -> memref<1024x1024xf32>", R"(
      %e = cs336.exp %x : tensor<1024x1024xf32>
      %t = cs336.transpose %e perm = [1, 0] : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      %y = cs336.add %e, %t : tensor<1024x1024xf32>
      exec.yield %y : tensor<1024x1024xf32>)");
  EXPECT_TRUE(failed(compiler.compile(text)));
  EXPECT_THAT(compiler.diagnostics, HasSubstr("put them into separate kernels"));
}

TEST(Refusals, OperationsThatAreNotFusible) {
  Compiler compiler;
  std::string text = kernel("norm", "%x: tensor<4x8xf32>, %w: tensor<8xf32>",
                            "(memref<4x8xf32>, memref<8xf32>) -> memref<4x8xf32>", R"(
      %y = cs336.rms_norm %x, %w eps = 1.0e-05 : tensor<4x8xf32>, tensor<8xf32>
      exec.yield %y : tensor<4x8xf32>)");
  EXPECT_TRUE(failed(compiler.compile(text)));
  EXPECT_FALSE(compiler.diagnostics.empty());
}
