//===- CS336TensorOps.td - Constants, shapes, reductions and matmuls -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336TENSOROPS_TD
#define CS336_DIALECT_CS336_IR_CS336TENSOROPS_TD

include "cs336/Dialect/CS336/IR/CS336OpBase.td"

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

// Targets read the elements directly. A resource, a string or a sparse attribute stores them in another way.
def CS336_DenseElements : ConfinedAttr<ElementsAttr, [
    AttrConstraint<CPred<"::llvm::isa<::mlir::DenseIntOrFPElementsAttr>($_self)">, "written out as dense<…>">]>;

def CS336_ConstantOp : CS336_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>, Rematerializable, Cost]> {
  let summary = "A tensor whose elements are known at compile time";
  let description = [{
    The value is a dense attribute, written `dense<…>`. The result has the attribute's type.

    ```mlir
    %half = cs336.constant dense<5.0e-01> : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins CS336_DenseElements:$value);
  let results = (outs CS336_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$type, "double":$splat), [{
    $_state.addAttribute("value", ::cs336::getSplat(type, splat));
    $_state.addTypes(type);
  }]>];
  let hasFolder = 1;
}

def CS336_IotaOp : CS336_Op<"iota", [Rematerializable, Cost]> {
  let summary = "The index along an axis";
  let description = [{
    Each element is its own index along `axis`, as a float or an integer. `axis` must be less than the rank of the
    result.

    ```mlir
    %t = cs336.iota axis = 0 : tensor<3x2xi32>    // [[0, 0], [1, 1], [2, 2]]
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs CS336_NumberTensor:$result);
  let assemblyFormat = "`axis` `=` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

def CS336_BroadcastOp : CS336_Op<"broadcast", [Differentiable, Rematerializable, Cost, View]> {
  let summary = "Repeats a tensor along new axes";
  let description = [{
    Axis `i` of the operand is axis `dims[i]` of the result and has the same size. `dims` ascends strictly. The axes of
    the result that are not in `dims` are new, and the operand is repeated along them. The element type does not change.

    Errors: a `dims` of another length than the operand's rank, not ascending, or beyond the result's rank, and an axis
    whose size changes.

    ```mlir
    %y = cs336.broadcast %x dims = [0, 2] : tensor<4x8xf32> -> tensor<4x16x8xf32>
    ```
  }];
  let arguments = (ins CS336_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs CS336_Tensor:$result);
  let assemblyFormat = "$operand `dims` `=` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}

def CS336_ReshapeOp : CS336_Op<"reshape", [Differentiable, Cost, View, Fusible]> {
  let summary = "The same elements in row-major order, in another shape";
  let description = [{
    The operand and the result must have the same number of elements and the same element type.

    ```mlir
    %y = cs336.reshape %x : tensor<4x32x64xf32> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins CS336_Tensor:$operand);
  let results = (outs CS336_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def CS336_TransposeOp : CS336_Op<"transpose", [Differentiable, Cost, View, Fusible]> {
  let summary = "Permutes the axes";
  let description = [{
    Axis `i` of the result is axis `perm[i]` of the operand. `perm` must be a permutation of the operand's axes. The
    element type does not change.

    ```mlir
    %heads = cs336.transpose %x perm = [0, 2, 1, 3] : tensor<2x32x4x16xf32> -> tensor<2x4x32x16xf32>
    ```
  }];
  let arguments = (ins CS336_Tensor:$operand, DenseI64ArrayAttr:$perm);
  let results = (outs CS336_Tensor:$result);
  let assemblyFormat = "$operand `perm` `=` $perm attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}

def CS336_SliceOp : CS336_Op<"slice", [Differentiable, Cost, View, Fusible]> {
  let summary = "Extracts a box from a tensor";
  let description = [{
    Element `i` of the result is element `offsets + i` of the operand, where `i` and `offsets` have one index per axis.
    The result's shape is the shape of the box. The box must lie inside the operand. The operand and the result have the
    same rank and the same element type.

    ```mlir
    %k = cs336.slice %qkv offsets = [0, 64] : tensor<128x192xf32> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins CS336_Tensor:$operand, DenseI64ArrayAttr:$offsets);
  let results = (outs CS336_Tensor:$result);
  let assemblyFormat = "$operand `offsets` `=` $offsets attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}

def CS336_PadOp : CS336_Op<"pad", [Differentiable, Cost, Fusible]> {
  let summary = "Puts a box into a tensor of zeros: the adjoint of `slice`";
  let description = [{
    Element `offsets + i` of the result is element `i` of the operand. All other elements are 0. The box must lie inside
    the result. The operand and the result have the same rank and the same element type.

    ```mlir
    %dqkv = cs336.pad %dk offsets = [0, 64] : tensor<128x64xf32> -> tensor<128x192xf32>
    ```
  }];
  let arguments = (ins CS336_Tensor:$operand, DenseI64ArrayAttr:$offsets);
  let results = (outs CS336_Tensor:$result);
  let assemblyFormat = "$operand `offsets` `=` $offsets attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def CS336_ConcatOp : CS336_Op<"concat", [Differentiable, Cost, Fusible, CS336_AutocastOpInterface]> {
  let summary = "Concatenates tensors along an axis";
  let description = [{
    Takes at least one operand. The operands have the same rank and element type, and the same sizes except along
    `axis`. The size of the result along `axis` is the sum of theirs.

    ```mlir
    %pairs = cs336.concat axis = 1 %a, %b : tensor<8x1xf32>, tensor<8x1xf32> -> tensor<8x2xf32>
    ```
  }];
  let arguments = (ins I64Attr:$axis, Variadic<CS336_Tensor>:$operands);
  let results = (outs CS336_Tensor:$result);
  let extraClassDeclaration = [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Widest; }
  }];
  let assemblyFormat = "`axis` `=` $axis $operands attr-dict `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Reductions, matmuls, gathers
//===----------------------------------------------------------------------===//

def CS336_ReduceOp : CS336_Op<"reduce", [Differentiable, Cost, FusibleReduction,
                                         CS336_AutocastOpInterface]> {
  let summary = "Sum or maximum over axes";
  let description = [{
    The result has the operand's element type and its shape without the reduced axes. Each axis may appear once in
    `axes`. bf16 and f16 accumulate in float32 and round once.

    The gradient of a maximum is divided equally among all elements that equal it. With `stop_gradient` the operation
    has no gradient. A softmax uses this: its value does not depend on the maximum that it subtracts.

    ```mlir
    %m = cs336.reduce max %x axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins CS336_ReduceKindAttr:$kind, CS336_NumberTensor:$operand, DenseI64ArrayAttr:$axes,
                       UnitAttr:$stop_gradient);
  let results = (outs CS336_NumberTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::cs336::ReduceKind":$kind, "::mlir::Value":$operand,
                                 "::llvm::ArrayRef<int64_t>":$axes), [{
    build($_builder, $_state, result, kind, operand, axes, /*stop_gradient=*/false);
  }]>];
  let assemblyFormat = "custom<Enumerator>($kind) $operand `axes` `=` $axes attr-dict `:` type($operand) `->` type($result)";
  let extraClassDeclaration = [{
    ::cs336::AutocastPolicy getAutocastPolicy() {
      return getKind() == ReduceKind::Sum ? ::cs336::AutocastPolicy::Float32 : ::cs336::AutocastPolicy::Keep;
    }
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}

def CS336_MatmulOp : CS336_Op<"matmul", [AttrSizedOperandSegments, Differentiable, Cost, Fusible,
    CS336_AutocastOpInterface]> {
  let summary = "Matrix multiplication, with batches, transposed operands and an epilogue";
  let description = [{
        C[b, m, n] = relu(Σₖ A[b, m, k]·B[b, k, n] + addend[b, m, n] + bias[n])

    The addend, the bias and the ReLU are optional. All operands and the result have the same element type.

    | part | shape and meaning |
    |---|---|
    | A | […, m, k], or […, k, m] with `transpose_a` |
    | B | […, k, n], or […, n, k] with `transpose_b` |
    | C | […, m, n] |
    | batches | the leading axes of A, B and C are equal; a B of rank 2 is used for all batches of A |
    | addend | the type of the result; it is added before the sum is rounded |
    | bias | [n]; it is added to every row before the sum is rounded |
    | `relu` | elements of the sum that are at most 0 become 0; NaN stays NaN |
    | `precision` | the arithmetic of float32: `ieee` never uses tf32; other element types ignore it |

    bf16 and f16 accumulate in float32. The sum is rounded once.

    Errors: an operand of rank below 2, batch axes or inner sizes that differ, and a result, addend or bias of another
    shape or element type.

    ```mlir
    %s = cs336.matmul %q, %k {transpose_b} : tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x4x32x32xf32>
    %r = cs336.matmul %h, %w add %x {transpose_b} : tensor<96x64xf32>, tensor<32x64xf32> -> tensor<96x32xf32>
    %y = cs336.matmul %h, %w bias %c {relu, transpose_b} : tensor<96x64xf32>, tensor<32x64xf32> -> tensor<96x32xf32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$lhs, CS336_FloatTensor:$rhs, Optional<CS336_FloatTensor>:$addend,
                       Optional<CS336_FloatTensor>:$bias, UnitAttr:$transpose_a, UnitAttr:$transpose_b, UnitAttr:$relu,
                       DefaultValuedAttr<CS336_PrecisionAttr, "::cs336::Precision::IEEE">:$precision);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`add` $addend^)? (`bias` $bias^)? attr-dict `:` type($lhs) `,` type($rhs) `->`
    custom<MatmulTypes>(type($result), ref($addend), type($addend), ref($bias), type($bias))
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "bool":$transposeA, "bool":$transposeB,
                                 CArg<"::cs336::Precision", "::cs336::Precision::IEEE">:$precision)>];
  let extraClassDeclaration = [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Low; }
    void allowTF32() { setPrecision(::cs336::Precision::TF32); }
    /// The sizes of one GEMM, and the number of GEMMs (batch).
    struct Sizes { int64_t batch, m, n, k; };
    Sizes getSizes();
    /// Returns whether the operation has an addend, a bias or a ReLU.
    bool hasEpilogue() { return getAddend() || getBias() || getRelu(); }
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def CS336_EmbeddingOp : CS336_Op<"embedding", [Differentiable, Fusible, Indexing,
    DeclareOpInterfaceMethods<CS336_CostOpInterface, ["getReadBytes"]>]> {
  let summary = "Selects rows of a table by index";
  let description = [{
        y[…, :] = table[ids[…], :]

    table: [rows, d] of floats, ids: […] of integers, y: […, d] with the table's element type. The ids must be in
    `[0, rows)`. `cs336-bound-indices` ensures this in one of three ways: it proves the range, it adds a bound to an
    input (`cs336.bound`), which the runtime checks before a run, or it inserts a check that runs with the program.

    ```mlir
    %x = cs336.embedding %table, %ids : tensor<97x64xf32>, tensor<3x32xi64> -> tensor<3x32x64xf32>
    ```
  }];
  let arguments = (ins CS336_FloatTensor:$table, CS336_IntTensor:$ids);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` type($table) `,` type($ids) `->` type($result)";
  let hasVerifier = 1;
}

def CS336_EmbeddingGradOp : CS336_Op<"embedding_grad", [Cost, Fusible, Indexing]> {
  let summary = "Gradient of an embedding table: adds rows by index, in the order of the indices";
  let description = [{
        result[v, :] = Σ gradient[position, :] over all positions with ids[position] = v

    The adjoint of `embedding`. ids: […] of integers, gradient: […, d], result: [rows, d] with the element type of the
    gradient. Rows that no index selects are 0. The sum follows ascending positions, so that two runs give bitwise equal
    results.

    ```mlir
    %dtable = cs336.embedding_grad %ids, %dx : tensor<3x32xi64>, tensor<3x32x64xf32> -> tensor<97x64xf32>
    ```
  }];
  let arguments = (ins CS336_IntTensor:$ids, CS336_FloatTensor:$gradient);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$ids `,` $gradient attr-dict `:` type($ids) `,` type($gradient) `->` type($result)";
  let hasVerifier = 1;
}

#endif // CS336_DIALECT_CS336_IR_CS336TENSOROPS_TD
