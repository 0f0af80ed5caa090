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

/// "%4, %5, %6": the operands of an asm statement with these numbers.
static std::string listOperands(int64_t first, int64_t count) {
  return llvm::join(
      llvm::map_range(llvm::seq(first, first + count), [](int64_t number) { return "%" + std::to_string(number); }),
      ", ");
}

/// Writes one of the two functions. The instruction takes the left operand as `left`, which are the operands `operands`
/// of the asm statement; `flags` follow the predicate.
static void emitRun(raw_ostream &os, StringRef type, int64_t columns, StringRef parameter, StringRef left,
                    int64_t numLeft, StringRef operands, StringRef flags) {
  int64_t size = columns / 2, right = size + numLeft;
  os << llvm::formatv("  template <int isRightTransposed>\n"
                      "  __device__ static void run(float (&sums)[{0}], {1}, unsigned long long right, int adds) {{\n"
                      "    asm volatile(\"{{.reg .pred adds; setp.ne.b32 adds, %{2}, 0;\\n\"\n"
                      "                 \"wgmma.mma_async.sync.aligned.m64n{3}k16.f32.{4}.{4} \"\n",
                      size, parameter, right + 1, columns, type);
  // Lines of 16 operands.
  constexpr int64_t perLine = 16;
  for (int64_t first = 0; first < size; first += perLine) {
    bool isLast = first + perLine >= size;
    os << "                 \"" << (first == 0 ? "{" : "") << listOperands(first, std::min(perLine, size - first))
       << (isLast ? "}, \"\n" : ", \"\n");
  }
  os << llvm::formatv("                 \"{0}, %{1}, adds, {2}, %{3};}\\n\"\n                 : ", left, right, flags,
                      right + 2);
  llvm::interleave(
      llvm::seq(size), os,
      [&](int64_t i) { os << (i != 0 && i % 8 == 0 ? "\n                   " : "") << "\"+f\"(sums[" << i << "])"; },
      ", ");
  os << "\n                 : " << operands << ", \"l\"(right), \"r\"(adds), \"n\"(isRightTransposed));\n  }\n";
}

void cs336::cuda::emitWgmma(raw_ostream &os, StringRef name, Type element, ArrayRef<int64_t> columns) {
  os << "struct " << name << " {\n  using Element = " << ExpressionPrinter::getStorageType(element)
     << ";\n  template <int columns>\n  struct Matmul;\n};\n";
  StringRef type = element.isBF16() ? "bf16" : "f16";
  for (int64_t number : columns) {
    assert(number % 8 == 0 && number > 0 && number <= 256 && "not a result of the instruction");
    int64_t size = number / 2;
    os << "template <>\nstruct " << name << "::Matmul<" << number << "> {\n";
    emitRun(os, type, number, "unsigned long long left", listOperands(size, 1), 1, "\"l\"(left)", "1, 1, 0");
    emitRun(os, type, number, "const unsigned *left", "{" + listOperands(size, 4) + "}", 4,
            "\"r\"(left[0]), \"r\"(left[1]), \"r\"(left[2]), \"r\"(left[3])", "1, 1");
    os << "};\n\n";
  }
}
