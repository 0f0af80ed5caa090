//===- CS336AttentionOps.td - Attention and its gradient -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336ATTENTIONOPS_TD
#define CS336_DIALECT_CS336_IR_CS336ATTENTIONOPS_TD

include "cs336/Dialect/CS336/IR/CS336OpBase.td"

class CS336_AttentionOpBase<string mnemonic, list<Trait> traits = []>
    : CS336_Op<mnemonic, traits # [Cost, DeclareOpInterfaceMethods<CS336_FusibleOpInterface, ["readsContiguousRows"]>,
                                   AllTypesMatch<["query", "output"]>, AllTypesMatch<["key", "value"]>,
                                   IsolatedFromAbove, SingleBlock]> {
  string sizesDeclaration = [{
    /// The sizes of the operands. The group is the number of query heads that share a key head.
    struct Sizes { int64_t batch, queries, keys, heads, keyHeads, group, headDim; };
    Sizes getSizes();
    /// Returns whether the scores are computed by the operation's region, and not by scale and mask alone.
    bool hasScoreFunction() { return !getScore().empty(); }
    /// Returns the body of the score function, which must exist.
    ::mlir::Block &getScoreFunction() { return getScore().front(); }
  }];
  let extraClassDeclaration = sizesDeclaration;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def CS336_AttentionOp : CS336_AttentionOpBase<"attention", [Differentiable,
    DeclareOpInterfaceMethods<CS336_AutocastOpInterface, ["getAutocastPolicy", "allowTF32", "keepsResultType",
                                                          "keepsOperandType"]>]> {
  let summary = "softmax(f(scale·QKᵀ))·V, without storing the scores";
  let description = [{
    For every batch b, query i and head h, with the key head g = ⌊h/(H/Hkv)⌋:

        s[j] = f(scale · Σ_d q[b, i, h, d]·k[b, j, g, d], b, h, i, j)
        log_sum_exp[b, h, i] = ln Σ_j e^s[j]
        output[b, i, h, :] = Σ_j e^(s[j] − log_sum_exp[b, h, i])·v[b, j, g, :]

    The sums are over all keys j. With `causal` they are over the keys with j ≤ i, where both count from 0. f is the
    identity, or the score function of `score`. FlashAttention-2 (Dao, 2023) describes an algorithm that stores no
    scores.

    | tensor | shape | element type |
    |---|---|---|
    | query, output | [B, Sq, H, D] | f64, f32, bf16 or f16 |
    | key, value | [B, Sk, Hkv, D], where Hkv divides H | the query's |
    | log_sum_exp | [B, H, Sq] | f32, or f64 for f64 |

    Heads are next to the last axis, so that splitting d_model into heads and merging them are reshapes, which move no
    data.

    GEMMs of bf16 and f16 accumulate in float32. Scores, maximum, sum and log_sum_exp stay in float32. The gradient of
    the operands reads log_sum_exp. log_sum_exp has no gradient of its own. `precision` is the arithmetic of float32 and
    has no effect on other types.

    **The score function** is a region of element-wise operations of this dialect, `cs336.constant` and `cs336.element`
    on tensors of rank 0. Its arguments are the scaled score (of the type of log_sum_exp), then the batch, the query
    head, the query and the key (i32, from 0), then the tables, which are further operands of any shape and type. It
    yields the score. A score of −∞ hides the key. A query without visible keys has output 0 and log_sum_exp −∞, and
    does not contribute to gradients; a softmax of primitives would have NaN there. The function computes in the type of
    the score: autocast changes neither it nor the tables.

    Errors: operands of other ranks, element types, batches or head dimensions, sizes of 0, and a `scale` that is not
    positive and finite. In a score function: other operations, arguments of other types, an index of `cs336.element`
    that is not provably in bounds, and a score that is not yielded.

    ```mlir
    %o, %lse = cs336.attention %q, %k, %v {scale = 2.5e-01 : f64, causal}
        : tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32> -> tensor<2x4x32xf32>

    // A linear bias per head (ALiBi).
    %p, %sums = cs336.attention %q, %k, %v {scale = 2.5e-01 : f64, causal}
        : tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32> -> tensor<2x4x32xf32> score(%slopes : tensor<4xf32>) {
    ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<4xf32>):
      %slope = cs336.element %table[%h] : tensor<4xf32>
      %distance = cs336.sub %j, %i : tensor<i32>
      %number = cs336.cast %distance : tensor<i32> -> tensor<f32>
      %bias = cs336.mul %slope, %number : tensor<f32>
      %biased = cs336.add %s, %bias : tensor<f32>
      cs336.yield %biased : tensor<f32>
    }
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$query, CS336_FloatTensor:$key, CS336_FloatTensor:$value,
                       Variadic<CS336_Tensor>:$tables, F64Attr:$scale, UnitAttr:$causal,
                       DefaultValuedAttr<CS336_PrecisionAttr, "::cs336::Precision::IEEE">:$precision);
  let results = (outs CS336_FloatTensor:$output, CS336_FloatTensor:$log_sum_exp);
  let regions = (region AnyRegion:$score);
  let assemblyFormat = [{
    $query `,` $key `,` $value attr-dict `:` type($query) `,` type($key) `->` type($log_sum_exp) ``
    custom<ScoreFunction>($tables, type($tables), $score)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value, "double":$scale,
                                 "bool":$causal)>];
}

def CS336_AttentionBackwardOp : CS336_AttentionOpBase<"attention_backward", [
    AllTypesMatch<["query", "gradient", "query_gradient"]>, AllTypesMatch<["key", "key_gradient", "value_gradient"]>]> {
  let summary = "Gradients of the operands of attention";
  let description = [{
    Computes the gradients from the operands and results of `cs336.attention` and the gradient dO of its output. The
    probabilities p are computed again from log_sum_exp:

        p[i, j] = e^(s[i, j] − log_sum_exp[i])
        Δ[i] = Σ_d dO[i, d]·O[i, d]
        ds[i, j] = f'[i, j]·p[i, j]·(Σ_d dO[i, d]·v[j, d] − Δ[i])
        dq[i] = scale·Σ_j ds[i, j]·k[j]
        dk[j] = scale·Σ_i ds[i, j]·q[i]
        dv[j] = Σ_i p[i, j]·dO[i]

    The sums over i include all query heads that share a key head. Each gradient has the type of its operand. Two runs
    give bitwise equal gradients.

    f' is 1 without a score function. The score function of the gradient yields the score s and f', its derivative with
    respect to the scaled score. Gradients of tables are sums of other operations, built by the adjoint of
    `cs336.attention`.

    Errors: as for `cs336.attention`.

    ```mlir
    %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %lse, %do {scale = 2.5e-01 : f64, causal}
        : tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32>, tensor<2x4x32xf32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$query, CS336_FloatTensor:$key, CS336_FloatTensor:$value,
                       CS336_FloatTensor:$output, CS336_FloatTensor:$log_sum_exp, CS336_FloatTensor:$gradient,
                       Variadic<CS336_Tensor>:$tables, F64Attr:$scale, UnitAttr:$causal,
                       DefaultValuedAttr<CS336_PrecisionAttr, "::cs336::Precision::IEEE">:$precision);
  let results = (outs CS336_FloatTensor:$query_gradient, CS336_FloatTensor:$key_gradient,
                      CS336_FloatTensor:$value_gradient);
  let regions = (region AnyRegion:$score);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $output `,` $log_sum_exp `,` $gradient attr-dict `:` type($query) `,` type($key) `,`
    type($log_sum_exp) `` custom<ScoreFunction>($tables, type($tables), $score)
  }];
  let builders = [OpBuilder<(ins "::cs336::AttentionOp":$forward, "::mlir::Value":$gradient)>];
}

//===----------------------------------------------------------------------===//
// Score functions
//===----------------------------------------------------------------------===//

def CS336_IndexScalar
    : Type<And<[CS336_Tensor.predicate, CPred<"::llvm::cast<::mlir::ShapedType>($_self).getRank() == 0">,
                CPred<"::llvm::cast<::mlir::ShapedType>($_self).getElementType().isSignlessInteger(32)">]>,
           "tensor of rank 0 of i32", "::mlir::RankedTensorType">,
      BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI32Type())">;

def CS336_ElementOp : CS336_Op<"element", [Cost, ParentOneOf<["AttentionOp", "AttentionBackwardOp"]>,
    TypesMatchWith<"the result is one element of the table", "table", "result",
                   "::mlir::RankedTensorType::get({}, ::llvm::cast<::mlir::RankedTensorType>($_self).getElementType())">]> {
  let summary = "One element of a table, in a score function";
  let description = [{
        y = table[indices…]

    There is one index per axis of the table, an i32 of rank 0. The table is an argument of the score function. Indices
    must be in bounds for every batch, head, query and key, which the verifier of the attention proves from the
    operations that compute them.

    ```mlir
    %bias = cs336.element %table[%head, %bucket] : tensor<4x32xf32>
    ```
  }];
  let arguments = (ins CS336_Tensor:$table, Variadic<CS336_IndexScalar>:$indices);
  let results = (outs CS336_Tensor:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table)";
  let hasVerifier = 1;
}

#endif // CS336_DIALECT_CS336_IR_CS336ATTENTIONOPS_TD
