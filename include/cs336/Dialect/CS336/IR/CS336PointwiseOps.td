//===- CS336PointwiseOps.td - Element-wise arithmetic -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336POINTWISEOPS_TD
#define CS336_DIALECT_CS336_IR_CS336POINTWISEOPS_TD

include "cs336/Dialect/CS336/IR/CS336OpBase.td"

// Each element of the result depends on the same element of every operand. The operation defines the scalar
// computation (`buildScalar`). The lowering to linalg and the cost are derived from it.
class CS336_PointwiseOp<string mnemonic, list<Trait> traits = []>
    : CS336_Op<mnemonic, traits # [Elementwise, SameOperandsAndResultShape, Fusible, CS336_ScalarOpInterface,
                                 CS336_CostOpInterface]> {
  string scalarDeclaration = [{
    /// Builds the computation of one element, of the result's element type.
    ::mlir::Value buildScalar(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange scalars);
  }];
  // FLOPs per element. A transcendental function counts as one, as in PyTorch's counters.
  int flopsPerElement = 1;
  string costDeclaration = "int64_t getFlops() { return " # flopsPerElement # " * getResult().getType().getNumElements(); }\n";
  let extraClassDeclaration = scalarDeclaration # costDeclaration;
}

class CS336_UnaryOp<string mnemonic, Type type, list<Trait> traits = []>
    : CS336_PointwiseOp<mnemonic, traits # [SameOperandsAndResultType, Differentiable]> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

// Computes in float32 under autocast (exp, log, …).
class CS336_Float32UnaryOp<string mnemonic, list<Trait> traits = []>
    : CS336_UnaryOp<mnemonic, CS336_FloatTensor, traits # [CS336_AutocastOpInterface]> {
  let extraClassDeclaration = scalarDeclaration # costDeclaration # [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Float32; }
  }];
}

class CS336_BinaryOp<string mnemonic, Type type, list<Trait> traits = []>
    : CS336_PointwiseOp<mnemonic, traits # [SameOperandsAndResultType, Differentiable,
                                            CS336_AutocastOpInterface]> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let extraClassDeclaration = scalarDeclaration # costDeclaration # [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Widest; }
  }];
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

def CS336_NegOp : CS336_UnaryOp<"neg", CS336_NumberTensor> {
  let summary = "−x";
  let description = [{
    Negates every element of a tensor of floats or integers. The result has the operand's type. Integers wrap around:
    the least one stays as it is.

    ```mlir
    %y = cs336.neg %x : tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
}

class CS336_Transcendental<string mnemonic, string formula> : CS336_Float32UnaryOp<mnemonic> {
  let summary = formula;
  let description = [{
    Applies the function to every element of a tensor of floats of any shape. The result has the operand's type. bf16
    and f16 are computed in float32 and rounded once.

    `%y = cs336.}] # mnemonic # [{ %x : tensor<4x8xf32>`
  }];
}
def CS336_ExpOp : CS336_Transcendental<"exp", "eˣ">;
def CS336_LogOp : CS336_Transcendental<"log", "ln x">;
def CS336_RsqrtOp : CS336_Transcendental<"rsqrt", "1/√x">;

class CS336_FloatFunction<string mnemonic, string formula> : CS336_UnaryOp<mnemonic, CS336_FloatTensor> {
  let summary = formula;
  let description = [{
    Applies the function to every element of a tensor of floats of any shape. The result has the operand's type. bf16
    and f16 are computed in float32 and rounded once.

    `%y = cs336.}] # mnemonic # [{ %x : tensor<4x8xf32>`
  }];
}
def CS336_SqrtOp : CS336_FloatFunction<"sqrt", "√x">;
def CS336_SinOp : CS336_FloatFunction<"sin", "sin x">;
def CS336_CosOp : CS336_FloatFunction<"cos", "cos x">;
def CS336_TanhOp : CS336_FloatFunction<"tanh", "tanh x">;
def CS336_ErfOp : CS336_FloatFunction<"erf", "erf x = 2/√π ∫₀ˣ exp(−t²) dt">;
def CS336_SigmoidOp : CS336_FloatFunction<"sigmoid", "1/(1 + e⁻ˣ)"> {
  let flopsPerElement = 3;
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

class CS336_Arithmetic<string mnemonic, string formula, list<Trait> traits = [], Type type = CS336_NumberTensor>
    : CS336_BinaryOp<mnemonic, type, traits> {
  let summary = formula;
  let description = [{
    Combines the elements at the same index of two tensors. Both operands and the result have the same type: the
    operation does not broadcast. bf16 and f16 are computed in float32 and rounded once. Integers wrap around (two's
    complement).

    `%z = cs336.}] # mnemonic # [{ %x, %y : tensor<4x8xf32>`
  }];
}
def CS336_AddOp : CS336_Arithmetic<"add", "x + y", [Commutative]> {
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}
def CS336_SubOp : CS336_Arithmetic<"sub", "x − y"> {
  let hasFolder = 1;
}
def CS336_MulOp : CS336_Arithmetic<"mul", "x · y", [Commutative]> {
  let hasFolder = 1;
}
def CS336_DivOp : CS336_Arithmetic<"div", "x / y", [], CS336_FloatTensor> {
  let hasFolder = 1;
  let extraClassDeclaration = scalarDeclaration # costDeclaration # [{
    /// Returns the policy. PyTorch computes a number divided by a tensor as `reciprocal` times the number.
    ::cs336::AutocastPolicy getAutocastPolicy();
  }];
}
def CS336_MaxOp : CS336_Arithmetic<"max", "the larger of x and y, NaN if either is NaN", [Commutative]>;
def CS336_MinOp : CS336_Arithmetic<"min", "the smaller of x and y, NaN if either is NaN", [Commutative]>;
def CS336_PowOp : CS336_PointwiseOp<"pow", [SameOperandsAndResultType, Differentiable,
                                            CS336_AutocastOpInterface]> {
  let summary = "xʸ";
  let description = [{
    Element-wise power, for x ≥ 0, or for any x and an integral y. Both operands and the result have the same type. bf16
    and f16 are computed in float32 and rounded once.

    `%z = cs336.pow %x, %y : tensor<4x8xf32>`
  }];
  let arguments = (ins CS336_FloatTensor:$lhs, CS336_FloatTensor:$rhs);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let extraClassDeclaration = scalarDeclaration # costDeclaration # [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Float32; }
  }];
}

//===----------------------------------------------------------------------===//
// Comparison, logic, selection, conversion
//===----------------------------------------------------------------------===//

def CS336_CompareOp : CS336_PointwiseOp<"compare", [SameTypeOperands, InferTypeOpAdaptor, CS336_AutocastOpInterface]> {
  let summary = "Element-wise comparison; a comparison with NaN is false, except `ne`";
  let description = [{
    Compares the elements at the same index of two tensors of the same type. The predicate is `eq`, `ne`, `lt`, `le`,
    `gt` or `ge`. Integers compare as signed numbers. The result has the same shape and elements of type i1.

    ```mlir
    %p = cs336.compare ge %q, %k : tensor<32x32xi32>    // tensor<32x32xi1>
    ```
  }];
  let arguments = (ins CS336_PredicateAttr:$predicate, CS336_NumberTensor:$lhs, CS336_NumberTensor:$rhs);
  let results = (outs CS336_BoolTensor:$result);
  let extraClassDeclaration = scalarDeclaration # costDeclaration # [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Widest; }
  }];
  let assemblyFormat = "custom<Enumerator>($predicate) $lhs `,` $rhs attr-dict `:` type($lhs)";
}

// Logic on masks, which are tensors of i1.
class CS336_LogicalOp<string mnemonic, string formula, list<Trait> traits = []>
    : CS336_PointwiseOp<mnemonic, traits # [SameOperandsAndResultType]> {
  let summary = formula;
  let results = (outs CS336_BoolTensor:$result);
  let hasFolder = 1;
}

class CS336_LogicalConnective<string mnemonic, string formula> : CS336_LogicalOp<mnemonic, formula, [Commutative]> {
  let description = [{
    Combines the elements at the same index of two tensors of i1. Both operands and the result have the same type: the
    operation does not broadcast. It has no gradient.

    `%r = cs336.}] # mnemonic # [{ %p, %q : tensor<4x8xi1>`
  }];
  let arguments = (ins CS336_BoolTensor:$lhs, CS336_BoolTensor:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
def CS336_AndOp : CS336_LogicalConnective<"and", "True where both operands are">;
def CS336_OrOp : CS336_LogicalConnective<"or", "True where at least one of the operands is">;

def CS336_NotOp : CS336_LogicalOp<"not", "True where the operand is false"> {
  let description = [{
    Negates every element of a tensor of i1. It has no gradient.

    `%r = cs336.not %p : tensor<4x8xi1>`

    Canonicalization turns the negation of a comparison into the opposite comparison. The comparisons `lt`, `le`, `gt`
    and `ge` of floats have none, because they are false for NaN.
  }];
  let arguments = (ins CS336_BoolTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasCanonicalizer = 1;
}

def CS336_SelectOp : CS336_PointwiseOp<"select", [Differentiable, CS336_AutocastOpInterface,
                                                  AllTypesMatch<["trueValue", "falseValue", "result"]>]> {
  let summary = "Element-wise choice: the first value where the predicate is true, else the second";
  let description = [{
    The predicate is a tensor of i1. The predicate, both values and the result have the same shape. The values may have
    any element type.

    ```mlir
    %masked = cs336.select %visible, %scores, %minus_infinity : tensor<32x32xf32>
    ```
  }];
  let arguments = (ins CS336_BoolTensor:$predicate, CS336_Tensor:$trueValue, CS336_Tensor:$falseValue);
  let results = (outs CS336_Tensor:$result);
  let extraClassDeclaration = scalarDeclaration # costDeclaration # [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Widest; }
  }];
  let assemblyFormat = "$predicate `,` $trueValue `,` $falseValue attr-dict `:` type($result) `` custom<PredicateType>(ref(type($result)), type($predicate))";
  let hasFolder = 1;
}

def CS336_CastOp : CS336_PointwiseOp<"cast", [Differentiable, CS336_AutocastOpInterface]> {
  let summary = "Conversion of the element type";
  let description = [{
    Converts every element. The shape does not change.

    - Between floats: rounds to nearest even. From f64 to bf16 or f16: rounds to f32 first.
    - From float to integer: truncates toward zero.
    - Between integers: sign-extends or truncates.
    - From i1: 0 or 1.
    - To i1: true if the value is not 0.

    A narrowing cast followed by a widening cast is kept, because the rounding between them is part of the program.

    ```mlir
    %y = cs336.cast %x : tensor<4x8xf32> -> tensor<4x8xbf16>
    ```
  }];
  let flopsPerElement = 0;
  let arguments = (ins CS336_Tensor:$operand);
  let results = (outs CS336_Tensor:$result);
  let extraClassDeclaration = scalarDeclaration # costDeclaration # [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Explicit; }
  }];
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

#endif // CS336_DIALECT_CS336_IR_CS336POINTWISEOPS_TD
