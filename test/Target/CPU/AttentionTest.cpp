//===- AttentionTest.cpp - Attention by blocks against its formula --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLibrary.h"
#include "KernelTexts.h"

#include <cmath>

using namespace cs336::test;

namespace {

/// The sizes of one attention. Queries, keys and values are side by side in rows of a packed matmul's result.
struct Sizes {
  int batch, queries, keys, heads, keyHeads, headDim;
  bool isCausal;

  int group() const { return heads / keyHeads; }
  /// Elements from one position to the next of a packed row, and of one of its parts.
  int queryStride() const { return heads * headDim + 3; }
  int keyStride() const { return 2 * keyHeads * headDim; }
  size_t outputSize() const { return static_cast<size_t>(batch) * queries * heads * headDim; }
  size_t keySize() const { return static_cast<size_t>(batch) * keys * keyHeads * headDim; }
  size_t sumSize() const { return static_cast<size_t>(batch) * heads * queries; }
};

/// The name of a test in messages.
void PrintTo(const Sizes &s, std::ostream *os) {
  *os << s.batch << "x" << s.queries << "x" << s.keys << "x" << s.heads << "on" << s.keyHeads << "x" << s.headDim
      << (s.isCausal ? " causal" : "");
}

/// Operands, and what the formulas make of them in double precision.
struct Reference {
  explicit Reference(const Sizes &sizes);

  Sizes sizes;
  std::vector<float> query, keyValue, gradient;
  std::vector<double> output, sums, queryGradient, keyGradient, valueGradient;
};

constexpr double kScale = 0.4;

Reference::Reference(const Sizes &s)
    : sizes(s), query(randomFloats(static_cast<size_t>(s.batch) * s.queries * s.queryStride())),
      keyValue(randomFloats(static_cast<size_t>(s.batch) * s.keys * s.keyStride(), -2, 2, 2)),
      gradient(randomFloats(s.outputSize(), -1, 1, 3)), output(s.outputSize()), sums(s.sumSize()),
      queryGradient(s.outputSize()), keyGradient(s.keySize()), valueGradient(s.keySize()) {
  for (int b = 0; b < s.batch; ++b) {
    for (int h = 0; h < s.heads; ++h) {
      int kh = h / s.group();
      auto key = [&](int j) { return &keyValue[(b * s.keys + j) * s.keyStride() + kh * s.headDim]; };
      auto value = [&](int j) { return key(j) + s.keyHeads * s.headDim; };
      for (int i = 0; i < s.queries; ++i) {
        const float *q = &query[(b * s.queries + i) * s.queryStride() + h * s.headDim];
        int place = ((b * s.queries + i) * s.heads + h) * s.headDim,
            end = s.isCausal ? std::min(i + 1, s.keys) : s.keys;
        std::vector<double> p(end);
        double total = 0, delta = 0;
        for (int j = 0; j < end; ++j) {
          for (int d = 0; d < s.headDim; ++d)
            p[j] += kScale * q[d] * key(j)[d];
          total += std::exp(p[j]);
        }
        sums[(b * s.heads + h) * s.queries + i] = std::log(total);
        for (int j = 0; j < end; ++j) {
          p[j] = std::exp(p[j]) / total;
          for (int d = 0; d < s.headDim; ++d)
            output[place + d] += p[j] * value(j)[d];
        }
        for (int d = 0; d < s.headDim; ++d)
          delta += gradient[place + d] * output[place + d];
        for (int j = 0; j < end; ++j) {
          int keyPlace = ((b * s.keys + j) * s.keyHeads + kh) * s.headDim;
          double slope = -delta;
          for (int d = 0; d < s.headDim; ++d)
            slope += gradient[place + d] * value(j)[d];
          for (int d = 0; d < s.headDim; ++d) {
            queryGradient[place + d] += kScale * p[j] * slope * key(j)[d];
            keyGradient[keyPlace + d] += kScale * p[j] * slope * q[d];
            valueGradient[keyPlace + d] += p[j] * gradient[place + d];
          }
        }
      }
    }
  }
}

std::string fillSizes(const Sizes &s, const std::string &text) {
  auto number = [](int value) { return std::to_string(value); };
  std::string shape = number(s.batch) + "x" + number(s.queries) + "x" + number(s.heads) + "x" + number(s.headDim);
  std::string keyShape = number(s.batch) + "x" + number(s.keys) + "x" + number(s.keyHeads) + "x" + number(s.headDim);
  std::string sums = number(s.batch) + "x" + number(s.heads) + "x" + number(s.queries) + "xf32";
  auto strides = [&](int positions, int stride) {
    return "strided<[" + number(positions * stride) + ", " + number(stride) + ", " + number(s.headDim) + ", 1]>";
  };
  return fill(text, {{"q", "tensor<" + shape + "xf32>"},
                     {"k", "tensor<" + keyShape + "xf32>"},
                     {"sums", "tensor<" + sums + ">"},
                     {"o memory", "memref<" + shape + "xf32>"},
                     {"q memory", "memref<" + shape + "xf32, " + strides(s.queries, s.queryStride()) + ">"},
                     {"k memory", "memref<" + keyShape + "xf32, " + strides(s.keys, s.keyStride()) + ">"},
                     {"dk memory", "memref<" + keyShape + "xf32>"},
                     {"sums memory", "memref<" + sums + ">"},
                     {"flags", std::string("{scale = 0.4 : f64") + (s.isCausal ? ", causal}" : "}")}});
}

std::string attentionKernels(const Sizes &sizes) {
  return fillSizes(sizes, R"(
    exec.kernel @forward(%q: {q}, %k: {k}, %v: {k})
        : ({q memory}, {k memory}, {k memory}) -> ({o memory}, {sums memory}) {
      %o, %sums = cs336.attention %q, %k, %v {flags} : {q}, {k} -> {sums}
      exec.yield %o, %sums : {q}, {sums}
    }
    exec.kernel @backward(%q: {q}, %k: {k}, %v: {k}, %o: {q}, %sums: {sums}, %do: {q})
        : ({q memory}, {k memory}, {k memory}, {o memory}, {sums memory}, {o memory})
        -> ({o memory}, {dk memory}, {dk memory}) {
      %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %sums, %do {flags} : {q}, {k}, {sums}
      exec.yield %dq, %dk, %dv : {q}, {k}, {k}
    })");
}

/// The results of the kernels on a reference's operands.
struct Results {
  Results(const Reference &r, const KernelLibrary &library, int parts)
      : output(r.sizes.outputSize()), sums(r.sizes.sumSize()), queryGradient(r.sizes.outputSize()),
        keyGradient(r.sizes.keySize()), valueGradient(r.sizes.keySize()) {
    auto *q = const_cast<float *>(r.query.data()), *k = const_cast<float *>(r.keyValue.data());
    float *v = k + r.sizes.keyHeads * r.sizes.headDim;
    library.run("forward", {q, k, v, output.data(), sums.data()}, parts);
    library.run("backward",
                {q, k, v, output.data(), sums.data(), const_cast<float *>(r.gradient.data()), queryGradient.data(),
                 keyGradient.data(), valueGradient.data()},
                parts);
  }

  bool operator==(const Results &other) const = default;

  std::vector<float> output, sums, queryGradient, keyGradient, valueGradient;
};

class AttentionSizes : public testing::TestWithParam<Sizes> {};

// Lengths around those of blocks and of what they meet; the last sizes of heads have columns outside of vectors.
INSTANTIATE_TEST_SUITE_P(Sizes, AttentionSizes,
                         testing::Values(Sizes{1, 1, 1, 1, 1, 8, true}, Sizes{2, 17, 17, 2, 2, 16, true},
                                         Sizes{1, 65, 65, 2, 1, 24, true}, Sizes{1, 31, 130, 4, 2, 8, false},
                                         Sizes{1, 130, 33, 1, 1, 40, true}, Sizes{1, 33, 130, 1, 1, 8, true},
                                         Sizes{1, 9, 11, 4, 2, 6, true}, Sizes{1, 33, 17, 2, 1, 20, false},
                                         Sizes{1, 40, 70, 1, 1, 3, true}, Sizes{1, 17, 20, 1, 1, 1, false}));

TEST_P(AttentionSizes, FormulaOnEveryInstructionSet) {
  Reference reference(GetParam());
  for (const char *cpu : {"generic", "x86-64-v3", "host"}) {
    KernelLibrary library(attentionKernels(GetParam()), cpu);
    Results results(reference, library, 1);
    expectClose(results.output, reference.output, 2e-6, 1.0);
    expectClose(results.sums, reference.sums, 2e-6, 1.0);
    expectClose(results.queryGradient, reference.queryGradient, 1e-5, 1.0);
    expectClose(results.keyGradient, reference.keyGradient, 1e-5, 1.0);
    expectClose(results.valueGradient, reference.valueGradient, 1e-5, 1.0);
  }
}

TEST_P(AttentionSizes, PartsDoNotChangeBits) {
  Reference reference(GetParam());
  KernelLibrary library(attentionKernels(GetParam()));
  EXPECT_EQ(Results(reference, library, 1), Results(reference, library, 3));
}

TEST(Attention, RowsAreBlocksOfPositions) {
  // A case with 100 queries and 70 keys, in lanes of two registers of eight numbers.
  Compiler compiler;
  auto compiled = compiler.compile(attentionKernels({2, 100, 70, 4, 2, 16, false}), "x86-64-v3");
  ASSERT_TRUE(succeeded(compiled)) << compiler.diagnostics;
  EXPECT_EQ(compiled->kernels["forward"].rows, 2 * 4 * 7);
  EXPECT_EQ(compiled->kernels["backward"].rows, 2 * 4 * 7 + 2 * 2 * 5);
}

} // namespace
