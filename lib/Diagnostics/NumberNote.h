//===- NumberNote.h - How MLIR spells numbers -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIAGNOSTICS_NUMBERNOTE_H
#define CS336_LIB_DIAGNOSTICS_NUMBERNOTE_H

#include "mlir/IR/Diagnostics.h"

namespace cs336 {

/// Adds a note to an error at `column` of `line`, from 1, if a number with an exponent but without a decimal point is
/// there, as `1e-3`: MLIR reads an integer and a name.
void noteNumber(mlir::Diagnostic &diagnostic, llvm::StringRef line, unsigned column);

} // namespace cs336

#endif // CS336_LIB_DIAGNOSTICS_NUMBERNOTE_H
