//===- CS336SoftmaxOps.td - Softmax and its gradient -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336SOFTMAXOPS_TD
#define CS336_DIALECT_CS336_IR_CS336SOFTMAXOPS_TD

include "cs336/Dialect/CS336/IR/CS336OpBase.td"

// A function of whole rows. It is computed in float32 (float64 for float64) and rounded once.
class CS336_RowOp<string mnemonic, list<Trait> traits> : CS336_Op<mnemonic, traits # [Fusible, Cost,
    CS336_AutocastOpInterface]> {
  let results = (outs CS336_FloatTensor:$result);
  let extraClassDeclaration = [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Float32; }
  }];
  let hasVerifier = 1;
}

def CS336_SoftmaxOp : CS336_RowOp<"softmax", [Differentiable, AllTypesMatch<["operand", "result"]>]> {
  let summary = "Softmax over the last axis, with a scale and a mask before it";
  let description = [{
        y = e / Σe, e = exp(z − max z), z = scale·x where mask is true, −∞ elsewhere

    The maximum and the sum are over the last axis. The operand has rank 1 or more, and the result has its type. The
    optional mask is a tensor of i1. Its shape is that of the operand's last axes. The leading axes that the mask lacks
    share it. A row in which the mask hides every element becomes NaN. bf16 and f16 are computed in float32 and rounded
    once.

    `cs336-fuse-softmax` creates this operation from primitives.

    Errors: an operand of rank 0, a `scale` that is not finite, and a mask of another shape.

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
        dx = scale·y·(dy − Σ y·dy)

    y is the result of the softmax, and dy is the gradient of y. The sum is over the last axis. y, dy and dx have the
    same type. `scale` and `mask` are those of the softmax. dx is 0 where the mask is false. There y is 0 as well,
    except in rows without a visible element, where y is NaN.

    Errors: as for `cs336.softmax`.

    ```mlir
    %dx = cs336.softmax_backward %p, %dp mask %visible {scale = 1.250000e-01 : f64} : tensor<2x4x32x32xf32>, tensor<32x32xi1>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$output, CS336_FloatTensor:$gradient, Optional<CS336_BoolTensor>:$mask,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let assemblyFormat = "$output `,` $gradient (`mask` $mask^)? attr-dict `:` type($output) (`,` type($mask)^)?";
}

#endif // CS336_DIALECT_CS336_IR_CS336SOFTMAXOPS_TD
