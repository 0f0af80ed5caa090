//===- Nesting.h - Depth of IR before it is parsed --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_NESTING_H
#define CS336_SUPPORT_NESTING_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace cs336 {

/// Returns an error with a position for text in MLIR's syntax that nests deeper than 256 levels. MLIR's parser, printer
/// and passes recurse over regions, attributes, types and locations, and would overflow the stack. An alias counts as
/// deep as its definition, and an affine expression as deep as its number of operators. Bytecode is not checked.
llvm::Error checkNesting(llvm::MemoryBufferRef text);

/// Returns an error for MLIR's bytecode, whose reader ends the process if the bytes are damaged, and for text that
/// nests too deep. Files that others may have written are read after this check.
llvm::Error checkIsReadableIR(llvm::MemoryBufferRef file);

} // namespace cs336

#endif // CS336_SUPPORT_NESTING_H
