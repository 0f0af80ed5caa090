//===- KernelToLinalg.h - The linalg form of a kernel, which targets read -*- C++ -*-===//
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

/// Builds `func.func @kernel(ins…, outs…) -> (results…)` on tensors at the builder's insertion point. The kernel writes
/// result i to output i. The chain of result i's destination operands starts at output i's argument.
///
/// The body contains:
/// - `linalg.generic` on static shapes. Indexing maps consist of dimensions plus constants; the maps of outputs may
/// have
///   offsets too, because pads and concatenations write boxes. Element-wise producers with one use are fused into their
///   consumers, so that constants, broadcasts and iotas become maps and scalars. Bodies may read tensors at computed
///   indices (`tensor.extract`).
/// - `scf.for` that carries a tensor and inserts scalars into it (scatters).
/// - `tensor.empty`: values that only the kernel reads. `arith.constant`: tables, and scalars that bodies use.
///
/// Fails with a diagnostic if an operation of the body cannot be fused. Positions of buffers in memory are not part of
/// this form: see the kernel's signature.
mlir::FailureOr<mlir::func::FuncOp> lowerKernelToLinalg(exec::KernelOp kernel, mlir::OpBuilder &builder);

} // namespace cs336

#endif // CS336_CODEGEN_KERNELTOLINALG_H
