//===- KernelTexts.cpp - Kernels, numbers and comparisons for tests -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTexts.h"

#include <cstring>
#include <random>

using namespace cs336::test;

std::vector<float> cs336::test::randomFloats(size_t count, float low, float high, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

std::string cs336::test::fill(std::string text, const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[key, value] : values)
    for (size_t at = 0; (at = text.find("{" + key + "}", at)) != std::string::npos; at += value.size())
      text.replace(at, key.size() + 2, value);
  return text;
}

std::string cs336::test::kernel(const std::string &name, const std::string &arguments, const std::string &signature,
                                const std::string &body) {
  return "exec.kernel @" + name + "(" + arguments + ") : " + signature + " {\n" + body + "\n}\n";
}

float cs336::test::fromBf16(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

uint16_t cs336::test::toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

std::string cs336::test::pointwiseChain(int size) {
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

std::string cs336::test::functionKernel(const std::string &name, int size, const std::string &type) {
  return fill(kernel("f", "%x: tensor<{n}x{t}>", "(memref<{n}x{t}>) -> memref<{n}x{t}>", R"(
      %y = cs336.{f} %x : tensor<{n}x{t}>
      exec.yield %y : tensor<{n}x{t}>)"),
              {{"n", std::to_string(size)}, {"t", type}, {"f", name}});
}

std::string cs336::test::softmaxKernel(int rows, int columns) {
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
