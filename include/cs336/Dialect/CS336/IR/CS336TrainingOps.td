//===- CS336TrainingOps.td - Fusion groups, recomputation, updates -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336TRAININGOPS_TD
#define CS336_DIALECT_CS336_IR_CS336TRAININGOPS_TD

include "cs336/Dialect/CS336/IR/CS336OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

def CS336_FusedOp : CS336_Op<"fused", [IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects, Cost]> {
  let summary = "A fusion group: operations that become one kernel";
  let description = [{
    The arguments of the body are the operands. The values that the body yields are the results. Every operation in the
    body must implement `FusibleOpInterface`. The group's FLOPs are the sum of those of its operations. Its bytes are
    those of its operands and results only.

    Errors: body arguments or yielded values whose types differ from those of the operands or results, and an operation
    that is not fusible.

    ```mlir
    %y = cs336.fused(%x, %z) {
    ^bb0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>):
      %s = cs336.sigmoid %a : tensor<4x8xf32>
      %m = cs336.mul %s, %b : tensor<4x8xf32>
      cs336.yield %m : tensor<4x8xf32>
    } : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<CS336_Tensor>:$inputs);
  let results = (outs Variadic<CS336_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict-with-keyword $body `:` functional-type($inputs, $outputs)";
  let hasVerifier = 1;
}

def CS336_YieldOp : CS336_Op<"yield", [Terminator, ReturnLike, ParentOneOf<["FusedOp", "AttentionOp",
                                                                          "AttentionBackwardOp"]>]> {
  let summary = "Terminates a fusion group or a score function and yields its results";
  let description = "See `cs336.fused` and `cs336.attention`.";
  let arguments = (ins Variadic<CS336_Tensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
  let builders = [OpBuilder<(ins), "">];
}

//===----------------------------------------------------------------------===//
// Recomputation
//===----------------------------------------------------------------------===//

def CS336_BarrierOp : Op<CS336_Dialect, "barrier", [Cost, View, AllTypesMatch<["operand", "result"]>]> {
  let summary = "The operand, as a new value that passes do not merge with it";
  let description = [{
    Operations on the result differ from the same operations on the operand, so passes do not merge them.
    `cs336-checkpoint` and `cs336-recompute-pointwise` put a barrier between a saved value and the values that the
    backward pass computes from it again. The operand and the result have the same type.

    To passes, the operation allocates its result. Two barriers are therefore never merged, and an unused barrier can be
    erased. At run time the result is a view of the operand.

    ```mlir
    %again = cs336.barrier %x : tensor<3x32x64xf32>
    ```
  }];
  let arguments = (ins CS336_Tensor:$operand);
  let results = (outs Res<CS336_Tensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let extraClassDeclaration = "bool mayRecompute() { return false; }";
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

def CS336_AdamWOp : CS336_Op<"adamw", [Cost, Fusible, AllTypesMatch<["parameter", "newParameter"]>,
    AllTypesMatch<["m", "v", "newM", "newV"]>]> {
  let summary = "One AdamW update of a parameter and its moments";
  let description = [{
    AdamW of Loshchilov and Hutter, 2019, in one of three published forms. m and v have one floating-point type, in
    which the moments are computed:

        g  = gradient·scale
        m' = β₁·m + (1 − β₁)·g
        v' = β₂·v + (1 − β₂)·g²

    With c₁ = 1 − β₁ᵗ, c₂ = 1 − β₂ᵗ and a = lr·√c₂/c₁, the new parameter p' is:

    | `form` | first | then |
    |---|---|---|
    | `pytorch` | p ← p − lr·λ·p | p' = p − lr·(m'/c₁)/(√(v'/c₂) + ε) |
    | `cs336_2025` | p ← p − a·m'/(√v' + ε) | p' = p − lr·λ·p |
    | `cs336_2026` | p ← p − lr·λ·p | p' = p − a·m'/(√v' + ε) |

    λ is `weight_decay`. lr, c₁, c₂ and scale are tensors of rank 0 and have one element type. The parameter, the
    gradient, m and v have the same shape. `apply` is an i1 of rank 0. If it is false, the parameter and both moments
    keep their values: a skipped step is predicated, not branched.

    ```mlir
    %p1, %m1, %v1 = cs336.adamw %p, %g, %m, %v lr = %lr, correction1 = %c1, correction2 = %c2, scale = %s, apply = %yes
        {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}
        : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$parameter, CS336_FloatTensor:$gradient, CS336_FloatTensor:$m, CS336_FloatTensor:$v,
    CS336_FloatTensor:$lr, CS336_FloatTensor:$correction1, CS336_FloatTensor:$correction2, CS336_FloatTensor:$scale, CS336_BoolTensor:$apply,
    F64Attr:$beta1, F64Attr:$beta2, F64Attr:$eps, F64Attr:$weight_decay,
    DefaultValuedAttr<CS336_AdamWFormAttr, "::cs336::AdamWForm::PyTorch">:$form);
  let results = (outs CS336_FloatTensor:$newParameter, CS336_FloatTensor:$newM, CS336_FloatTensor:$newV);
  let assemblyFormat = [{
    $parameter `,` $gradient `,` $m `,` $v `lr` `=` $lr `,` `correction1` `=` $correction1 `,` `correction2` `=` $correction2 `,`
    `scale` `=` $scale `,` `apply` `=` $apply attr-dict `:` type($parameter) `,` type($gradient) `,` type($m) `,`
    custom<ScalarTypes>(type($lr), type($correction1), type($correction2), type($scale), type($apply))
  }];
  let extraClassDeclaration = "bool mayRecompute() { return false; }";
  let hasVerifier = 1;
}

#endif // CS336_DIALECT_CS336_IR_CS336TRAININGOPS_TD
