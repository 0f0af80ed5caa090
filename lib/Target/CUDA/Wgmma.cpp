//===- Wgmma.cpp - The text of wgmma instructions -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"

#include "ExpressionPrinter.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace cs336::cuda;

/// Lists the operands of an asm statement with these numbers: "%4, %5, %6".
static std::string listOperands(int64_t first, int64_t count) {
  return llvm::join(
      llvm::map_range(llvm::seq(first, first + count), [](int64_t number) { return "%" + std::to_string(number); }),
      ", ");
}

namespace {
/// One of the functions of the structure.
struct RunFunction {
  /// The text before the parameter of the result.
  StringRef declaration;
  /// The parameter of the left operand, the operands of the asm statement for it, their number, and how the instruction
  /// lists them.
  StringRef parameter, operands;
  int64_t numOperands;
  std::string left;
  /// Immediate values between the predicate and the one for the right operand.
  StringRef flags;
  /// The value for the right operand.
  StringRef isRightTransposed;
};
} // namespace

/// Writes a function for results of so many columns.
static void emitRun(raw_ostream &os, StringRef type, int64_t columns, const RunFunction &function) {
  int64_t size = columns / 2, right = size + function.numOperands;
  os << llvm::formatv("{0}(float (&sums)[{1}], {2}, unsigned long long right, int adds) {{\n"
                      "    asm volatile(\"{{.reg .pred adds; setp.ne.b32 adds, %{3}, 0;\\n\"\n"
                      "                 \"wgmma.mma_async.sync.aligned.m64n{4}k16.f32.{5}.{5} \"\n",
                      function.declaration, size, function.parameter, right + 1, columns, type);
  // Lines of 16 operands.
  constexpr int64_t perLine = 16;
  for (int64_t first = 0; first < size; first += perLine) {
    bool isLast = first + perLine >= size;
    os << "                 \"" << (first == 0 ? "{" : "") << listOperands(first, std::min(perLine, size - first))
       << (isLast ? "}, \"\n" : ", \"\n");
  }
  os << llvm::formatv("                 \"{0}, %{1}, adds, {2}, %{3};}\\n\"\n                 : ", function.left, right,
                      function.flags, right + 2);
  llvm::interleave(
      llvm::seq(size), os,
      [&](int64_t i) { os << (i != 0 && i % 8 == 0 ? "\n                   " : "") << "\"+f\"(sums[" << i << "])"; },
      ", ");
  os << "\n                 : " << function.operands << ", \"l\"(right), \"r\"(adds), \"n\"("
     << function.isRightTransposed << "));\n  }\n";
}

void cs336::cuda::emitWgmma(raw_ostream &os, StringRef name, Type element, ArrayRef<int64_t> columns,
                            ArrayRef<int64_t> leftTransposed) {
  os << "struct " << name << " {\n  using Element = " << ExpressionPrinter::getStorageType(element)
     << ";\n  template <int columns>\n  struct Matmul;\n};\n";
  StringRef type = element.isBF16() ? "bf16" : "f16";
  for (int64_t number : columns) {
    assert(number % 8 == 0 && number > 0 && number <= 256 && "not a result of the instruction");
    int64_t size = number / 2;
    os << "template <>\nstruct " << name << "::Matmul<" << number << "> {\n";
    constexpr StringLiteral run = "  template <int isRightTransposed>\n  __device__ static void run";
    const std::string description = listOperands(size, 1), registers = "{" + listOperands(size, 4) + "}";
    emitRun(os, type, number,
            {.declaration = run,
             .parameter = "unsigned long long left",
             .operands = "\"l\"(left)",
             .numOperands = 1,
             .left = description,
             .flags = "1, 1, 0",
             .isRightTransposed = "isRightTransposed"});
    emitRun(os, type, number,
            {.declaration = run,
             .parameter = "const unsigned *left",
             .operands = "\"r\"(left[0]), \"r\"(left[1]), \"r\"(left[2]), \"r\"(left[3])",
             .numOperands = 4,
             .left = registers,
             .flags = "1, 1",
             .isRightTransposed = "isRightTransposed"});
    if (llvm::is_contained(leftTransposed, number))
      emitRun(os, type, number,
              {.declaration = "  __device__ static void runLeftTransposed",
               .parameter = "unsigned long long left",
               .operands = "\"l\"(left)",
               .numOperands = 1,
               .left = description,
               .flags = "1, 1, 1",
               .isRightTransposed = "1"});
    os << "};\n\n";
  }
}
