//===- KernelSignature.h - Signatures of kernels as text --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler appends a kernel's signature to the symbol of its code on the
// CPU, as C++ compilers append parameter types to names:
//
//   cs336_sigmoid_3f2a(f32[4,8|16,1]%4;=f32[4,8|8,1]%4)4
//
// The verifier can then reject a file that uses the code under this symbol with
// other rows or layouts. An operand consists of its element type, sizes, strides
// and alignment. In front of these stands "=" if the kernel writes it, after the
// positions of the operands that it may overwrite, as in "0,1=". Integers in
// [0, 96] end with "{0..96}", with one range per variant, and "*" for any
// integers. Then follow the rows, and "+4096" for 4096 bytes of memory per
// thread.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_KERNELSIGNATURE_H
#define CS336_RUNTIME_FORMAT_KERNELSIGNATURE_H

#include "cs336/runtime/format/Executable_generated.h"

#include <string>

namespace cs336::format {

inline bool operator==(const IntegerRange &a, const IntegerRange &b) {
  return a.least() == b.least() && a.most() == b.most();
}

/// Returns the range of unbounded integers.
IntegerRange AnyInteger();

/// Returns text such as "0..96", or "*" for unbounded integers.
std::string ToString(const IntegerRange &range);

/// Returns the part of a symbol that follows the name. Two signatures have the
/// same text if and only if they are equal, except for the workspace, which does
/// not exist on the CPU.
std::string ToSymbolSuffix(const SignatureT &signature);

} // namespace cs336::format

#endif // CS336_RUNTIME_FORMAT_KERNELSIGNATURE_H
