//===- CS336CollectiveOps.td - Communication between ranks -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336COLLECTIVEOPS_TD
#define CS336_DIALECT_CS336_IR_CS336COLLECTIVEOPS_TD

include "cs336/Dialect/CS336/IR/CS336OpBase.td"

def CS336_CollectiveOp : CS336_Op<"collective", [DeclareOpInterfaceMethods<CS336_CostOpInterface, ["getWireBytes"]>]> {
  let summary = "Communication between all ranks of a group";
  let description = [{
    All ranks of the group run the operation together, with the same attributes and types. Each operand has one result,
    of the same element type. `group` is the number of ranks n, at least 1. Parts are along axis 0, in the order of
    ranks:

    | `kind` | result of rank r | shape | bytes that each rank sends, for S bytes of all parts |
    |---|---|---|---|
    | `all_reduce` | the reduction of the operands of all ranks | result = operand | 2·S·(n − 1)/n |
    | `reduce_scatter` | part r of that reduction | axis 0 of the operand is n times that of the result | S·(n − 1)/n |
    | `all_gather` | the operands of all ranks, one after another | axis 0 of the result is n times that of the operand | S·(n − 1)/n |
    | `broadcast` | the operand of rank `root` | result = operand | S |
    | `all_to_all` | part r of the operand of each rank, one after another | result = operand, n divides axis 0 | S·(n − 1)/n |

    The bytes are those of ring algorithms, and 0 for one rank.

    `all_reduce` and `reduce_scatter` require a reduction of numbers: `sum`, `mean` or `max`. The values of the ranks
    are combined in one order, so that every rank gets the same bits. On CPUs and on two GPUs, bf16 and f16 are added
    in f32, and `mean` divides the sum once, toward zero for integers. On more GPUs, NCCL may round at each rank.

    Collectives of one program have the same group: all ranks of the run. An executable stores only their number.

    Errors: a reduction for a kind that does not reduce, or no reduction for a kind that does; a `root` for another kind
    than `broadcast`, or outside of the group; and types that the table excludes.

    ```mlir
    %g0, %g1 = cs336.collective all_reduce mean(%x, %y) group = 4 : (tensor<64xf32>, tensor<8x4xbf16>) -> (tensor<64xf32>, tensor<8x4xbf16>)
    %w = cs336.collective all_gather(%shard) group = 4 : (tensor<16x8xf32>) -> tensor<64x8xf32>
    %b = cs336.collective broadcast(%x) group = 4 root = 3 : (tensor<64xf32>) -> tensor<64xf32>
    ```
  }];
  let arguments = (ins CS336_CollectiveKindAttr:$kind, OptionalAttr<CS336_CollectiveReductionAttr>:$reduction,
                       Variadic<CS336_Tensor>:$inputs, I64Attr:$group, OptionalAttr<I64Attr>:$root);
  let results = (outs Variadic<CS336_Tensor>:$outputs);
  let assemblyFormat = [{
    custom<CollectiveKind>($kind, $reduction) `(` $inputs `)` `group` `=` $group (`root` `=` $root^)? attr-dict `:`
    functional-type($inputs, $outputs)
  }];
  let extraClassDeclaration = "bool mayRecompute() { return false; }";
  let hasVerifier = 1;
}

#endif // CS336_DIALECT_CS336_IR_CS336COLLECTIVEOPS_TD
