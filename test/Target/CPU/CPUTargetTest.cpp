//===- CPUTargetTest.cpp - Fused kernels, objects and refusals -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLibrary.h"
#include "KernelTexts.h"

#include "gmock/gmock.h"
#include <cmath>
#include <numeric>

using namespace cs336::test;
using testing::Contains;
using testing::HasSubstr;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

TEST(Groups, SoftmaxKeepsOneRow) {
  for (auto [rows, columns] :
       {std::pair(1, 1), std::pair(5, 3), std::pair(7, 1000), std::pair(3, 20000), std::pair(3, 300000)}) {
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
  // The values between them would be on the stack, and do not fit there.
  for (int n : {6, 600}) {
    KernelLibrary library(
        fill(kernel("symmetric", "%x: tensor<{n}x{n}xf32>", "(memref<{n}x{n}xf32>) -> memref<{n}x{n}xf32>", R"(
      %e = cs336.exp %x : tensor<{n}x{n}xf32>
      %t = cs336.transpose %e perm = [1, 0] : tensor<{n}x{n}xf32> -> tensor<{n}x{n}xf32>
      %y = cs336.add %e, %t : tensor<{n}x{n}xf32>
      exec.yield %y : tensor<{n}x{n}xf32>)"),
             {{"n", std::to_string(n)}}));
    std::vector<float> x = randomFloats(n * n), y(n * n);
    library.run("symmetric", {x.data(), y.data()}, 2);
    std::vector<double> expected;
    for (int i = 0; i < n * n; ++i)
      expected.push_back(std::exp(x[i]) + std::exp(x[i % n * n + i / n]));
    expectClose(y, expected, 1e-6);
  }
}

TEST(Groups, RowsWiderThanAStackAreInMemoryOfTheThread) {
  constexpr int kColumns = 150001;
  KernelLibrary library(
      softmaxKernel(2, 1000) +
      fill(kernel("roots", "%x: tensor<3x{n}xf32>", "(memref<3x{n}xf32>) -> (memref<3x{n}xf32>, memref<3x{n}xf32>)",
                  R"(
      %e = cs336.exp %x : tensor<3x{n}xf32>
      %s = cs336.sqrt %e : tensor<3x{n}xf32>
      %p = cs336.mul %e, %s : tensor<3x{n}xf32>
      %t = cs336.reduce sum %p axes = [1] : tensor<3x{n}xf32> -> tensor<3xf32>
      %b = cs336.broadcast %t dims = [0] : tensor<3xf32> -> tensor<3x{n}xf32>
      %y = cs336.div %e, %b : tensor<3x{n}xf32>
      %z = cs336.div %s, %b : tensor<3x{n}xf32>
      exec.yield %y, %z : tensor<3x{n}xf32>, tensor<3x{n}xf32>)"),
           {{"n", std::to_string(kColumns)}}));
  const auto &kernels = library.getObject().kernels;
  EXPECT_EQ(kernels.find("softmax")->second.threadBytes, 0);
  // Two rows and a sum, each on cache lines of its own.
  EXPECT_EQ(kernels.find("roots")->second.threadBytes, 2 * llvm::alignTo(4 * kColumns, 64) + 64);

  std::vector<float> x = randomFloats(3 * kColumns), y(x.size()), z(x.size());
  library.run("roots", {x.data(), y.data(), z.data()}, 2);
  std::vector<double> expectedY, expectedZ;
  for (int row = 0; row < 3; ++row) {
    double sum = 0;
    for (int column = 0; column < kColumns; ++column)
      sum += std::exp(1.5 * x[row * kColumns + column]);
    for (int column = 0; column < kColumns; ++column) {
      expectedY.push_back(std::exp(x[row * kColumns + column]) / sum);
      expectedZ.push_back(std::exp(0.5 * x[row * kColumns + column]) / sum);
    }
  }
  expectClose(y, expectedY, 2e-6);
  expectClose(z, expectedZ, 2e-6);
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
  EXPECT_THAT(
      compiler.diagnostics,
      HasSubstr("unknown instruction set 'x86-64-v9': expected host, generic, x86-64-v2, x86-64-v3 or x86-64-v4"));
  EXPECT_THAT(compiler.diagnostics, HasSubstr("x86-64-v3"));
}

TEST(Refusals, HalfWithoutInstructionsForIt) {
  Compiler compiler;
  EXPECT_TRUE(failed(compiler.compile(functionKernel("exp", 8, "f16"), "x86-64-v2")));
  EXPECT_THAT(compiler.diagnostics, HasSubstr("compile for x86-64-v3"));
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
