//===- MatmulLowering.h - Matmuls as strided GEMMs --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_CONVERSION_CS336TOEXEC_MATMULLOWERING_H
#define CS336_LIB_CONVERSION_CS336TOEXEC_MATMULLOWERING_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

namespace cs336 {

/// Builds the GEMM that computes `op` from its operands' `buffers` into dense storage `output`. Copies operands first
/// if GEMM does not accept their layouts.
void lowerMatmul(MatmulOp op, MatmulOp::Adaptor buffers, mlir::OpBuilder &builder, mlir::Value output);

} // namespace cs336

#endif // CS336_LIB_CONVERSION_CS336TOEXEC_MATMULLOWERING_H
