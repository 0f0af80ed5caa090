//===- KernelSignature.cpp - Signatures of kernels as text ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/format/KernelSignature.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace cs336::format {

IntegerRange AnyInteger() { return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}; }

std::string ToString(const IntegerRange &range) {
  return range == AnyInteger() ? "*" : std::to_string(range.least()) + ".." + std::to_string(range.most());
}

namespace {

std::string ToText(int64_t number) { return std::to_string(number); }
std::string ToText(const IntegerRange &range) { return ToString(range); }

template <typename T>
void Append(const std::vector<T> &elements, std::string &text) {
  for (size_t i = 0; i != elements.size(); ++i) {
    if (i != 0)
      text += ',';
    text += ToText(elements[i]);
  }
}

void Append(const OperandSignatureT &operand, std::string &text) {
  if (operand.is_written) {
    Append(operand.written_over, text);
    text += '=';
  }
  text += EnumNameDType(operand.dtype);
  text += '[';
  Append(operand.shape, text);
  text += '|';
  Append(operand.strides, text);
  text += "]%";
  text += std::to_string(operand.alignment);
  if (!operand.ranges.empty()) {
    text += '{';
    Append(operand.ranges, text);
    text += '}';
  }
}

} // namespace

std::string ToSymbolSuffix(const SignatureT &signature) {
  std::string text;
  for (const auto &operand : signature.operands) {
    text += text.empty() ? '(' : ';';
    Append(*operand, text);
  }
  text += ')';
  text += std::to_string(signature.rows);
  if (signature.thread_bytes != 0) {
    text += '+';
    text += std::to_string(signature.thread_bytes);
  }
  return text;
}

} // namespace cs336::format
