//===- CS336CompositeOps.td - Operations with a formula in other operations -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336COMPOSITEOPS_TD
#define CS336_DIALECT_CS336_IR_CS336COMPOSITEOPS_TD

include "cs336/Dialect/CS336/IR/CS336OpBase.td"

// `cs336-decompose` replaces composites with primitives, which are then differentiated and lowered.
class CS336_CompositeOp<string mnemonic, string policy, list<Trait> traits = []>
    : CS336_Op<mnemonic, traits # [Decomposable, Cost, CS336_AutocastOpInterface]> {
  string policyDeclaration = "::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::" # policy # "; }\n";
  let extraClassDeclaration = policyDeclaration;
}

def CS336_LinearOp : CS336_Op<"linear", [Decomposable, Cost,
    CS336_AutocastOpInterface]> {
  let summary = "y = x Wᵀ, without bias";
  let description = [{
    x: […, in], W: [out, in], y: […, out]. All three have the same element type. `precision` is the arithmetic of
    float32, as for `cs336.matmul`.

    Errors: an x of rank 0, a W that is not a matrix, and sizes `in` or `out` that do not agree.

    ```mlir
    %q = cs336.linear %x, %w : tensor<3x32x64xf32>, tensor<64x64xf32> -> tensor<3x32x64xf32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$input, CS336_FloatTensor:$weight,
                       DefaultValuedAttr<CS336_PrecisionAttr, "::cs336::Precision::IEEE">:$precision);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` type($input) `,` type($weight) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight)>];
  let extraClassDeclaration = [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Low; }
    void allowTF32() { setPrecision(::cs336::Precision::TF32); }
  }];
  let hasVerifier = 1;
}

class CS336_ActivationOp<string mnemonic, list<Trait> traits = []>
    : CS336_CompositeOp<mnemonic, "Keep", traits # [Elementwise, SameOperandsAndResultType]> {
  let arguments = (ins CS336_FloatTensor:$operand);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
def CS336_SiluOp : CS336_ActivationOp<"silu"> {
  let summary = "x · sigmoid(x)";
  let description = [{
    Element-wise (Elfwing et al., 2017; also called swish). The result has the operand's type. bf16 and f16 are computed
    in float32 and rounded once.

    `%y = cs336.silu %x : tensor<4x8xf32>`
  }];
}
def CS336_ReluOp : CS336_ActivationOp<"relu"> {
  let summary = "max(x, 0)";
  let description = [{
    Element-wise. The result has the operand's type. NaN stays NaN. The gradient at 0 is 0.

    `%y = cs336.relu %x : tensor<4x8xf32>`
  }];
}
def CS336_GeluOp : CS336_ActivationOp<"gelu"> {
  let summary = "x · Φ(x), exact or with tanh";
  let description = [{
    Element-wise (Hendrycks and Gimpel, 2016). The result has the operand's type. Φ is the cumulative distribution
    function of the standard normal distribution:

        exact:        Φ(x) = ½(1 + erf(x/√2))
        with `tanh`:  Φ(x) ≈ ½(1 + tanh(√(2/π)·(x + 0.044715x³)))

    ```mlir
    %y = cs336.gelu %x {tanh} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$operand, UnitAttr:$tanh);
}

def CS336_RMSNormOp : CS336_CompositeOp<"rms_norm", "Keep", [AllTypesMatch<["input", "result"]>]> {
  let summary = "Root-mean-square normalisation over the last axis";
  let description = [{
        r = rsqrt(mean(x²) + eps)
        y = w·(x·r)

    Zhang and Sennrich, 2019. x and y: […, d], w: [d]. The mean is over the last axis. The computation is in float32
    (float64 for float64 input), and the result is cast to the input's type last.

    Errors: an input of rank 0, a weight of another shape, and an `eps` that is not positive.

    ```mlir
    %y = cs336.rms_norm %x, %w eps = 1.0e-05 : tensor<3x32x64xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$input, CS336_FloatTensor:$weight, F64Attr:$eps);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight `eps` `=` custom<Real>($eps) attr-dict `:` type($input) `,` type($weight)";
  let hasVerifier = 1;
}

def CS336_LayerNormOp : CS336_CompositeOp<"layer_norm", "Float32", [AllTypesMatch<["input", "result"]>, AllTypesMatch<["weight", "bias"]>]> {
  let summary = "Layer normalisation over the last axis";
  let description = [{
        y = (x − mean)·rsqrt(var + eps)·w + b

    Ba et al., 2016. x and y: […, d], w and b: [d]. Mean and variance are over the last axis. The variance is divided by
    d (no Bessel's correction).

    Errors: an input of rank 0, a weight of another shape, and an `eps` that is not positive.

    ```mlir
    %y = cs336.layer_norm %x, %w, %b eps = 1.0e-05 : tensor<4x10xf32>, tensor<10xf32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$input, CS336_FloatTensor:$weight, CS336_FloatTensor:$bias, F64Attr:$eps);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight `,` $bias `eps` `=` custom<Real>($eps) attr-dict `:` type($input) `,` type($weight)";
  let hasVerifier = 1;
}

def CS336_RoPEOp : CS336_CompositeOp<"rope", "Keep", [AllTypesMatch<["input", "result"]>]> {
  let summary = "Rotary position embedding of interleaved pairs";
  let description = [{
        angle(t, j) = t·theta^(−2j/D)
        y[2j]   = x[2j]·cos(angle(t, j)) − x[2j+1]·sin(angle(t, j))
        y[2j+1] = x[2j]·sin(angle(t, j)) + x[2j+1]·cos(angle(t, j))

    Su et al., 2021. x and y: […, S, D], where D is even. t is the index along S. The angles are computed in float64,
    because float32 would have an error of 6e-5 at t = 1000.

    Errors: an input of rank below 2, an odd D, and a `theta` that is not positive.

    ```mlir
    %y = cs336.rope %q theta = 1.0e+04 : tensor<2x4x32x16xf32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$input, F64Attr:$theta);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$input `theta` `=` custom<Real>($theta) attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def CS336_CrossEntropyOp : CS336_CompositeOp<"cross_entropy", "Float32", [Indexing]> {
  let summary = "Mean over all positions of −log softmax(logits)[target]";
  let description = [{
    logits: […, V] of floats, targets: […] of integers in `[0, V)`, result: a tensor of rank 0. The range of the targets
    is proved or checked as for the ids of `cs336.embedding`.

    The maximum is subtracted before the exponentials. Inputs narrower than float32 are widened first. The target's
    logit is selected by a comparison with an iota instead of a gather, so that the value and its gradient consist of
    element-wise operations and row reductions.

    Errors: logits of rank 0, and targets whose shape is not that of the logits without the last axis.

    ```mlir
    %loss = cs336.cross_entropy %logits, %targets : tensor<3x32x97xf32>, tensor<3x32xi64> -> tensor<f32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$logits, CS336_IntTensor:$targets);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets attr-dict `:` type($logits) `,` type($targets) `->` type($result)";
  let hasVerifier = 1;
}

#endif // CS336_DIALECT_CS336_IR_CS336COMPOSITEOPS_TD
