//===- KernelSignature.cpp - Signatures of kernels as text ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/format/KernelSignature.h"

#include <vector>

namespace cs336::format {

namespace {

template <typename T>
void Append(const std::vector<T> &numbers, std::string &text) {
  for (size_t i = 0; i != numbers.size(); ++i) {
    if (i != 0)
      text += ',';
    text += std::to_string(numbers[i]);
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
