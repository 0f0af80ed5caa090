//===- CS336SoftmaxOps.td - Softmax and its gradient -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336SOFTMAXOPS_TD
#define CS336_DIALECT_CS336_IR_CS336SOFTMAXOPS_TD

include "cs336/Dialect/CS336/IR/CS336OpBase.td"

// A function of whole rows, computed in float32 (float64 for float64) and rounded once.
class CS336_RowOp<string mnemonic, list<Trait> traits> : CS336_Op<mnemonic, traits # [Fusible, Cost,
    CS336_AutocastOpInterface]> {
  let results = (outs CS336_FloatTensor:$result);
  let extraClassDeclaration = [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Float32; }
  }];
  let hasVerifier = 1;
}

def CS336_SoftmaxOp : CS336_RowOp<"softmax", [Differentiable, AllTypesMatch<["operand", "result"]>]> {
  let summary = "Softmax over the last axis, with scaling and masking before it";
  let description = [{
    y = e/Σe with e = exp(z − max z) and z = `scale`·x where `mask` holds, −∞ elsewhere; maximum and sum are over the
    last axis. The mask's shape is that of x without any number of its leading axes, which share the mask. A row without
    a visible element is NaN. bf16 and f16 compute in float32 and round once.

    `cs336-fuse-softmax` makes it out of primitives.

    ```mlir
    %p = cs336.softmax %scores mask %visible {scale = 1.250000e-01 : f64} : tensor<2x4x32x32xf32>, tensor<32x32xi1>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$operand, Optional<CS336_BoolTensor>:$mask,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let assemblyFormat = "$operand (`mask` $mask^)? attr-dict `:` type($operand) (`,` type($mask)^)?";
}

def CS336_SoftmaxBackwardOp : CS336_RowOp<"softmax_backward", [AllTypesMatch<["output", "gradient", "result"]>]> {
  let summary = "The gradient of a softmax over the last axis";
  let description = [{
    dx = `scale`·y·(dy − Σ y·dy), from the softmax's result y and its gradient dy; the sum is over the last axis. Where the
    `mask` of the softmax does not hold, dx is 0: so is y, but in rows without a visible element, where y is NaN.

    ```mlir
    %dx = cs336.softmax_backward %p, %dp mask %visible {scale = 1.250000e-01 : f64} : tensor<2x4x32x32xf32>, tensor<32x32xi1>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$output, CS336_FloatTensor:$gradient, Optional<CS336_BoolTensor>:$mask,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let assemblyFormat = "$output `,` $gradient (`mask` $mask^)? attr-dict `:` type($output) (`,` type($mask)^)?";
}

#endif // CS336_DIALECT_CS336_IR_CS336SOFTMAXOPS_TD
