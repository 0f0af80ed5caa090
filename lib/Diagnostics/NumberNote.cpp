//===- NumberNote.cpp - How MLIR spells numbers ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NumberNote.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace cs336;

void cs336::noteNumber(Diagnostic &diagnostic, StringRef line, unsigned column) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error || column == 0 || column > line.size())
    return;
  // The parser fails at the number, or at the `e` that it takes for the next name.
  size_t start = column - 1;
  while (start > 0 && llvm::isDigit(line[start - 1]))
    --start;
  SmallVector<StringRef> parts;
  if ((start > 0 && (llvm::isAlnum(line[start - 1]) || StringRef("_.$%@#^").contains(line[start - 1]))) ||
      !llvm::Regex("^([0-9]+)([eE][-+]?[0-9]+)").match(line.drop_front(start), &parts))
    return;
  diagnostic.attachNote() << "a number with an exponent needs a decimal point here: write " << parts[1] << ".0"
                          << parts[2] << " instead of " << parts[0];
}
