//===- CS336TrainingOps.td - What passes make: groups, updates, collectives -===//
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
  let summary = "A group of operations that becomes one kernel";
  let description = [{
    The body's arguments are the operands; what it yields are the results. Its operations are fusible (`FusibleOpInterface`);
    their costs in FLOPs add up, and only operands and results count as bytes.

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

def CS336_YieldOp : CS336_Op<"yield", [Terminator, ReturnLike, ParentOneOf<["FusedOp"]>]> {
  let summary = "The results of a group";
  let description = "See `cs336.fused`.";
  let arguments = (ins Variadic<CS336_Tensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
  let builders = [OpBuilder<(ins), "">];
}

//===----------------------------------------------------------------------===//
// Recomputation
//===----------------------------------------------------------------------===//

def CS336_BarrierOp : Op<CS336_Dialect, "barrier", [Cost, View, AllTypesMatch<["operand", "result"]>]> {
  let summary = "The operand, as a value that nobody knows to be the same";
  let description = [{
    What is computed from the result is not the same expression as what is computed from the operand, so that no pass
    merges the two: `cs336-checkpoint` puts a barrier between a saved value and what it computes from it again. For
    passes the operation allocates its result, which keeps equal ones apart and lets unused ones go; it runs as a view.

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
  let summary = "One AdamW update of a parameter";
  let description = [{
    m' = β₁m + (1−β₁)g, v' = β₂v + (1−β₂)g², where g = gradient·`scale`, in the type of m and v. With lr, c₁ = 1−β₁ᵗ and c₂ = 1−β₂ᵗ given as scalars:

    - `pytorch`: p ← p − lr·λ·p; p' = p − lr·(m'/c₁)/(√(v'/c₂) + ε)
    - `cs336_2025`: p ← p − a·m'/(√v' + ε); p' = p − lr·λ·p, with a = lr·√c₂/c₁
    - `cs336_2026`: p ← p − lr·λ·p; p' = p − a·m'/(√v' + ε)

    Where `apply` is false all three keep their values: a skipped step is predicated, not branched.

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

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

class CS336_CollectiveOp<string mnemonic, list<Trait> traits = []> : CS336_Op<mnemonic, traits # [Cost]> {
  let extraClassDeclaration = "bool mayRecompute() { return false; }";
  let hasVerifier = 1;
}

def CS336_AllReduceOp : CS336_CollectiveOp<"all_reduce", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "Combines the tensors of all ranks; every rank has the result";
  let description = "`%y = cs336.all_reduce sum %x world = 4 : tensor<64xf32>`";
  let arguments = (ins CS336_ReduceKindAttr:$kind, CS336_NumberTensor:$operand, I64Attr:$world);
  let results = (outs CS336_NumberTensor:$result);
  let assemblyFormat = "custom<Enumerator>($kind) $operand `world` `=` $world attr-dict `:` type($result)";
}
def CS336_AllGatherOp : CS336_CollectiveOp<"all_gather"> {
  let summary = "The tensors of all ranks, one after the other along axis 0";
  let description = "`%y = cs336.all_gather %x world = 4 : tensor<16x8xf32> -> tensor<64x8xf32>`";
  let arguments = (ins CS336_Tensor:$operand, I64Attr:$world);
  let results = (outs CS336_Tensor:$result);
  let assemblyFormat = "$operand `world` `=` $world attr-dict `:` type($operand) `->` type($result)";
}
def CS336_ReduceScatterOp : CS336_CollectiveOp<"reduce_scatter"> {
  let summary = "Combines the tensors of all ranks; every rank keeps its part along axis 0";
  let description = "`%y = cs336.reduce_scatter sum %x world = 4 : tensor<64x8xf32> -> tensor<16x8xf32>`";
  let arguments = (ins CS336_ReduceKindAttr:$kind, CS336_NumberTensor:$operand, I64Attr:$world);
  let results = (outs CS336_NumberTensor:$result);
  let assemblyFormat = "custom<Enumerator>($kind) $operand `world` `=` $world attr-dict `:` type($operand) `->` type($result)";
}
def CS336_BroadcastRankOp : CS336_CollectiveOp<"broadcast_rank", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "Every rank gets the tensor of rank `root`";
  let description = "`%y = cs336.broadcast_rank %x root = 0 world = 4 : tensor<64xf32>`";
  let arguments = (ins CS336_Tensor:$operand, I64Attr:$root, I64Attr:$world);
  let results = (outs CS336_Tensor:$result);
  let assemblyFormat = "$operand `root` `=` $root `world` `=` $world attr-dict `:` type($result)";
}

#endif // CS336_DIALECT_CS336_IR_CS336TRAININGOPS_TD
