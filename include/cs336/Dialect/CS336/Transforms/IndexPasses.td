//===- IndexPasses.td - Passes that keep indices in bounds -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_INDEXPASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_INDEXPASSES_TD

include "mlir/Pass/PassBase.td"

def BoundIndicesPass : Pass<"cs336-bound-indices", "::mlir::func::FuncOp"> {
  let summary = "Proves that indices are in bounds, or has them checked as the program runs";
  let description = [{
    For every operand that holds indices (`IndexingOpInterface`: ids of `embedding` and `embedding_grad`, targets of
    `cross_entropy`), with n places to name:

    - An input that is used as it is, but for its layout, gets `cs336.bound = n` if it has none, the least where several
      operations use it. A larger `cs336.bound` is an error.
    - A constant with an element outside of [0, n) is an error that names the element, as are integers that are outside of it
      whatever the inputs are.
    - Other integers are proved to be in [0, n) by their ranges, from bounds of inputs, constants, iotas and arithmetic
      (`mlir::InferIntRangeInterface`). Where that proves nothing, `cs336.check_bound` comes between: integers of parameters
      and of state, conversions of floating-point numbers, arithmetic that may leave the bounds. `cs336.max` and
      `cs336.min` clamp indices without a check.

    Contract: after `cs336-name-ports`, which tells inputs from variables, and before `cs336-decompose`, whose form of a
    `cross_entropy` has no indices. Running it again changes nothing.

    Before:

    ```mlir
    func.func @forward(%table: tensor<97x64xf32> {cs336.kind = "parameter", cs336.name = "table"},
                       %ids: tensor<32xi64> {cs336.kind = "input", cs336.name = "ids"},
                       %more: tensor<32xi64> {cs336.kind = "state", cs336.name = "more"}) -> … {
      %x = cs336.embedding %table, %ids : tensor<97x64xf32>, tensor<32xi64> -> tensor<32x64xf32>
      %y = cs336.embedding %table, %more : tensor<97x64xf32>, tensor<32xi64> -> tensor<32x64xf32>
    ```

    After:

    ```mlir
    func.func @forward(%table: tensor<97x64xf32> {cs336.kind = "parameter", cs336.name = "table"},
                       %ids: tensor<32xi64> {cs336.bound = 97 : i64, cs336.kind = "input", cs336.name = "ids"},
                       %more: tensor<32xi64> {cs336.kind = "state", cs336.name = "more"}) -> … {
      %x = cs336.embedding %table, %ids : tensor<97x64xf32>, tensor<32xi64> -> tensor<32x64xf32>
      %0 = cs336.check_bound %more bound = 97 : tensor<32xi64>
      %y = cs336.embedding %table, %0 : tensor<97x64xf32>, tensor<32xi64> -> tensor<32x64xf32>
    ```

    Counts `num-bounded`, inputs that got a bound; `num-proved`, operands whose indices are in bounds; `num-checked`, those
    that are checked as the program runs.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

#endif // CS336_DIALECT_CS336_TRANSFORMS_INDEXPASSES_TD
