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
                                   AllTypesMatch<["query", "output"]>, AllTypesMatch<["key", "value"]>]> {
  string sizesDeclaration = [{
    /// Of the operands; the group is the number of query heads that share a key head.
    struct Sizes { int64_t batch, queries, keys, heads, keyHeads, group, headDim; };
    Sizes getSizes();
  }];
  let extraClassDeclaration = sizesDeclaration;
  let hasVerifier = 1;
}

def CS336_AttentionOp : CS336_AttentionOpBase<"attention", [Differentiable,
    DeclareOpInterfaceMethods<CS336_AutocastOpInterface, ["getAutocastPolicy", "allowTF32", "keepsResultType"]>]> {
  let summary = "softmax(scale·QKᵀ)·V, without scores in memory";
  let description = [{
    q and output: [B, Sq, H, D]; k and v: [B, Sk, Hkv, D], where Hkv divides H and query head h reads key head
    h/(H/Hkv); log_sum_exp: [B, H, Sq]. For every batch b, query i and head h,

        s[j] = scale · Σ_d q[b, i, h, d]·k[b, j, h/(H/Hkv), d]
        log_sum_exp[b, h, i] = ln Σ_j e^s[j]
        output[b, i, h, :] = Σ_j e^(s[j] − log_sum_exp[b, h, i])·v[b, j, h/(H/Hkv), :]

    over all keys j, with `causal` over those with j ≤ i, where both count from 0. Heads stand next to the last axis, so that
    splitting d_model into heads and merging them are reshapes, which move nothing.

    Products of bf16 and f16 accumulate in float32, in which scores, maximum and sum stay, and so does log_sum_exp, which
    the gradient starts from; it has no gradient of its own. `precision` is about float32 only.

    ```mlir
    %o, %lse = cs336.attention %q, %k, %v {scale = 2.5e-01 : f64, causal}
        : tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32> -> tensor<2x4x32xf32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$query, CS336_FloatTensor:$key, CS336_FloatTensor:$value, F64Attr:$scale,
                       UnitAttr:$causal, DefaultValuedAttr<CS336_PrecisionAttr, "::cs336::Precision::IEEE">:$precision);
  let results = (outs CS336_FloatTensor:$output, CS336_FloatTensor:$log_sum_exp);
  let assemblyFormat = "$query `,` $key `,` $value attr-dict `:` type($query) `,` type($key) `->` type($log_sum_exp)";
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value, "double":$scale,
                                 "bool":$causal)>];
}

def CS336_AttentionBackwardOp : CS336_AttentionOpBase<"attention_backward", [
    AllTypesMatch<["query", "gradient", "query_gradient"]>, AllTypesMatch<["key", "key_gradient", "value_gradient"]>]> {
  let summary = "Gradients of attention's operands";
  let description = [{
    From the operands and results of `cs336.attention` and the gradient dO of its output. With the probabilities
    p[i, j] = e^(s[i, j] − log_sum_exp[i]), computed again, and Δ[i] = Σ_d dO[i, d]·O[i, d],

        ds[i, j] = p[i, j]·(Σ_d dO[i, d]·v[j, d] − Δ[i])
        dq[i] = scale·Σ_j ds[i, j]·k[j],  dk[j] = scale·Σ_i ds[i, j]·q[i],  dv[j] = Σ_i p[i, j]·dO[i]

    where the sums over i include the query heads that share a key head. Two runs agree to the bit.

    ```mlir
    %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %lse, %do {scale = 2.5e-01 : f64, causal}
        : tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32>, tensor<2x4x32xf32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$query, CS336_FloatTensor:$key, CS336_FloatTensor:$value,
                       CS336_FloatTensor:$output, CS336_FloatTensor:$log_sum_exp, CS336_FloatTensor:$gradient,
                       F64Attr:$scale, UnitAttr:$causal,
                       DefaultValuedAttr<CS336_PrecisionAttr, "::cs336::Precision::IEEE">:$precision);
  let results = (outs CS336_FloatTensor:$query_gradient, CS336_FloatTensor:$key_gradient,
                      CS336_FloatTensor:$value_gradient);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $output `,` $log_sum_exp `,` $gradient attr-dict `:` type($query) `,` type($key) `,`
    type($log_sum_exp)
  }];
  let builders = [OpBuilder<(ins "::cs336::AttentionOp":$forward, "::mlir::Value":$gradient)>];
}

#endif // CS336_DIALECT_CS336_IR_CS336ATTENTIONOPS_TD
