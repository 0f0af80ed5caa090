//===- Passes.td - Passes that recognise attention and softmax -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_RECOGNITION_PASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_RECOGNITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FlashAttentionPass : Pass<"cs336-flash-attention", "::mlir::func::FuncOp"> {
  let summary = "Fuse scores, element-wise operations on them, softmax and values into one attention operation";
  let description = [{
    Replaces softmax(f(scale·QKᵀ))·V, written as matmuls and primitives, with `cs336.attention`, which stores no scores.
    The pass recognises the computation by its structure:

    - Scale: any number of multiplications and divisions by a constant, or none.
    - Mask: selections of −∞, or additions of 0 and −∞.
    - Leading axes: none, batches, batches and heads, or groups of heads.
    - Any other element-wise operations of score functions (`ScalarOpInterface`), and activations such as `cs336.silu`,
      between the scores and the softmax.

    The pass adds layout operations, so that operands and result have the shape [batch, positions, heads, head_dim].
    These compose with a head split and merge, which become reshapes. If keys and values are repeated for several query
    heads, the new operation reads them once.

    The attention is causal only if the pass proves that exactly the keys j ≤ i are visible. The mask must be a constant
    table, or a comparison of linear functions of query i and key j. A mask that hides no keys is ignored.

    If there are other operations than scales and a causal mask, they become the score function of the attention, which
    computes one score from the scaled score, its batch, query head, query and key:

    - Indices (`cs336.iota`) become those of the pair, also through broadcasts, transposes and reshapes.
    - A mask that depends on i − j alone, and with which one range of distances is visible, becomes comparisons of the
      distance. The kernels skip the pairs outside of this range.
    - A lookup in a table (`cs336.embedding`) is computed in the function if its indices are provably in bounds.
    - Other values become tables, which the function reads at the position of the score: results of other operations,
      and numbers that do not depend on both query and key. If heads have several axes and a table depends on only one
      of them, the table is repeated along the others.
    - Scales next to the matmul stay the scale of the attention, and a causal mask at the end stays its mask.

    Sliding windows, soft caps, linear biases (ALiBi), biases by table, padding by lengths, documents by segment ids, and
    queries that follow cached keys are such functions.

    Run it before `cs336-differentiate`, so that the gradient is fused too, and before `cs336-autocast`, whose casts of
    the scores would break the pattern. It may run before or after `cs336-fuse-softmax`. It must run before
    `cs336-fuse-epilogues`.

    A fused attention has the remark `Fused` with its sizes. A computation that is similar but not fused has a
    missed-optimization remark with the reason:

    | remark | reason |
    |---|---|
    | `UsedElsewhere` | another operation reads the scores, or the values are computed from them |
    | `NoSoftmax` | the probabilities are not quite a softmax over the keys |
    | `NoScores` | the input of the softmax is not a matmul of queries and keys |
    | `NotInScoreFunction` | an operation between scores and softmax rounds or widens scores, or there are more than 256 |
    | `NotPointwise` | an operation that is not element-wise is between scores and softmax |
    | `BetweenSoftmaxAndValues` | an operation is between the softmax and the matmul with the values |
    | `Transposed` | the probabilities are not the left, untransposed operand of the matmul with the values |
    | `Epilogue` | one of the two matmuls has an addend, a bias or a ReLU |
    | `HeadDim` | head_dim is above 256, or differs from that of the values |

    Before:

    ```mlir
    %s = cs336.matmul %q, %k {transpose_b} : tensor<2x4x9x16xf32>, tensor<2x4x9x16xf32> -> tensor<2x4x9x9xf32>
    %c = cs336.constant dense<2.5e-01> : tensor<2x4x9x9xf32>
    %x = cs336.mul %s, %c : tensor<2x4x9x9xf32>
    %m0 = cs336.reduce max %x axes = [3] : tensor<2x4x9x9xf32> -> tensor<2x4x9xf32>
    %m = cs336.broadcast %m0 dims = [0, 1, 2] : tensor<2x4x9xf32> -> tensor<2x4x9x9xf32>
    %d = cs336.sub %x, %m : tensor<2x4x9x9xf32>
    %e = cs336.exp %d : tensor<2x4x9x9xf32>
    %z0 = cs336.reduce sum %e axes = [3] : tensor<2x4x9x9xf32> -> tensor<2x4x9xf32>
    %z = cs336.broadcast %z0 dims = [0, 1, 2] : tensor<2x4x9xf32> -> tensor<2x4x9x9xf32>
    %p = cs336.div %e, %z : tensor<2x4x9x9xf32>
    %o = cs336.matmul %p, %v : tensor<2x4x9x9xf32>, tensor<2x4x9x16xf32> -> tensor<2x4x9x16xf32>
    ```

    After:

    ```mlir
    %q1 = cs336.transpose %q perm = [0, 2, 1, 3] : tensor<2x4x9x16xf32> -> tensor<2x9x4x16xf32>
    %k1 = cs336.transpose %k perm = [0, 2, 1, 3] : tensor<2x4x9x16xf32> -> tensor<2x9x4x16xf32>
    %v1 = cs336.transpose %v perm = [0, 2, 1, 3] : tensor<2x4x9x16xf32> -> tensor<2x9x4x16xf32>
    %o1, %lse = cs336.attention %q1, %k1, %v1 {scale = 2.5e-01 : f64}
        : tensor<2x9x4x16xf32>, tensor<2x9x4x16xf32> -> tensor<2x4x9xf32>
    %o = cs336.transpose %o1 perm = [0, 2, 1, 3] : tensor<2x9x4x16xf32> -> tensor<2x4x9x16xf32>
    ```

    With `%y = cs336.tanh %x` between the scale and the softmax, the attention has a score function:

    ```mlir
    %o1, %lse = cs336.attention %q1, %k1, %v1 {scale = 2.5e-01 : f64}
        : tensor<2x9x4x16xf32>, tensor<2x9x4x16xf32> -> tensor<2x4x9xf32> score() {
    ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
      %y = cs336.tanh %s : tensor<f32>
      cs336.yield %y : tensor<f32>
    }
    ```

    The kernels do not compute gradients of tables, such as those of a trained bias: the adjoint builds them from blocks
    of scores. `table-block-bytes` is the largest size of a block of float32 or float64 scores. The step holds about four
    tensors of this size. If the value is not the default, the attention has the attribute `cs336.table_block_bytes`.

    Counts `num-fused`, attentions fused; `num-causal`, how many of them are causal; `num-score-functions`, how many have
    a score function; `num-refused`, candidates that were not fused.
  }];
  let options = [Option<"tableBlockBytes", "table-block-bytes", "int64_t", "::cs336::kDefaultTableBlockBytes",
                        "Most bytes of the scores of a block in the gradient of a table (default: 134217728)">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def FuseSoftmaxPass : Pass<"cs336-fuse-softmax", "::mlir::func::FuncOp"> {
  let summary = "Fuse the primitives of a softmax, with scale and mask, into one operation";
  let description = [{
    Replaces a softmax that is written as primitives with `cs336.softmax`, whose adjoint is `cs336.softmax_backward`.
    The pass recognises y = e/Σe or y = e·(1/Σe) with e = exp(z − max z), where the maximum and the sum are over the
    last axis. The new operation also includes these operations between the scores and the softmax:

    - Scales: x·c, c·x and x/c with a splat constant c, any number of them. A scale that comes after the mask must be
      positive, so that −∞ stays −∞. An addition of 0 to all elements is removed: it is a mask that hides no keys.
    - One mask: select(m, x, −∞), select(m, −∞, x), or x + c where every element of c is 0 or −∞ (equivalent for finite
      x). Leading axes along which the mask is repeated are dropped.

    In a program that is already differentiated, the gradient becomes `cs336.softmax_backward` in the same way. The pass
    recognises the chain dz = e·(a − Σ a·y) with a = dy/Σe, which reverse mode creates for the quotient e/Σe. A gradient
    of the maximum is dropped, because it is 0 apart from rounding.

    The operation computes bf16 and f16 in float32 and rounds once, while the primitives round each result. Its kernels
    for GPUs read and write each element once if the operands of a row have up to about 64 KB, which fit into registers.
    They read longer rows in three passes.

    Run it before `cs336-autocast`, whose policy for a softmax is float32, and before `cs336-differentiate`, so that the
    gradient is that of the operation. A second run changes nothing.

    Remarks:

    - `Fused` and `GradientFused`, with the length of the rows.
    - `NotFused` (missed): the pattern is not quite a softmax. It has no maximum, uses another axis, uses the maximum or
      sum of another value, or its maximum, exponentials or sum have other uses (for example in the gradient of
      e·(1/Σe)).
    - `NotAbsorbed` (missed): a scale or a mask stays a separate operation before the softmax.

    Before:

    ```mlir
    %s = cs336.mul %x, %eighth : tensor<2x4x8xf32>
    %z = cs336.select %visible, %s, %minus_infinity : tensor<2x4x8xf32>
    %m = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
    %mb = cs336.broadcast %m dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
    %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
    %e = cs336.exp %d : tensor<2x4x8xf32>
    %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
    %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
    %y = cs336.div %e, %tb : tensor<2x4x8xf32>
    ```

    After:

    ```mlir
    %y = cs336.softmax %x mask %mask {scale = 1.250000e-01 : f64} : tensor<2x4x8xf32>, tensor<4x8xi1>
    ```

    Counts `num-fused`, softmaxes created; `num-gradients`, gradients of softmaxes created.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

#endif // CS336_DIALECT_CS336_TRANSFORMS_RECOGNITION_PASSES_TD
