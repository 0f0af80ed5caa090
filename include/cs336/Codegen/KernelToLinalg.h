//===- KernelToLinalg.h - The form of a kernel that targets read -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_CODEGEN_KERNELTOLINALG_H
#define CS336_CODEGEN_KERNELTOLINALG_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cs336 {

/// Builds `func.func @kernel(ins…, outs…) -> (results…)` on tensors at the builder's insertion point. Result i is what
/// the kernel writes to output i, and its chain of destination operands starts at output i's argument.
///
/// The body holds:
/// - `linalg.generic` on static shapes. Indexing maps are dims plus constants; maps of outputs, too, may have offsets
/// (pads
///   and concatenations write boxes). Producers of one pointwise use are fused into their consumers, so that constants,
///   broadcasts and iotas have become maps and scalars. Bodies may read tensors at computed places (`tensor.extract`).
/// - `scf.for` that carries a tensor and inserts scalars into it (scatters).
/// - `tensor.empty`: values that only the kernel sees. `arith.constant`: scalars that bodies use, and tables.
///
/// Fails with a diagnostic where an operation of the body is not fusible. Where buffers lie is not part of this form:
/// see the kernel's signature.
mlir::FailureOr<mlir::func::FuncOp> lowerKernelToLinalg(exec::KernelOp kernel, mlir::OpBuilder &builder);

} // namespace cs336

#endif // CS336_CODEGEN_KERNELTOLINALG_H
