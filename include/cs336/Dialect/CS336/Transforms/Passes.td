//===- Passes.td - Passes over the cs336 dialect -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_PASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_PASSES_TD

include "cs336/Dialect/CS336/Transforms/Fusion/Passes.td"
include "cs336/Dialect/CS336/Transforms/Memory/Passes.td"
include "cs336/Dialect/CS336/Transforms/Precision/Passes.td"
include "cs336/Dialect/CS336/Transforms/Recognition/Passes.td"
include "cs336/Dialect/CS336/Transforms/Training/Passes.td"
include "mlir/Pass/PassBase.td"

def BoundIndicesPass : Pass<"cs336-bound-indices", "::mlir::func::FuncOp"> {
  let summary = "Prove that indices are in bounds, or add commands that check them at run time";
  let description = [{
    For every operand that holds indices of n elements (`IndexingOpInterface`: ids of `embedding` and `embedding_grad`,
    targets of `cross_entropy`):

    - If the operand is an input, possibly after layout operations, the input gets `cs336.bound = n` unless it has a
      bound. If several operations use the input, its bound is the smallest n. A `cs336.bound` above n is an error.
    - A constant with an element outside of [0, n) is an error that names the element. Integers that are outside of [0,
      n) for all inputs are an error too.
    - For other integers, the pass computes ranges from bounds of inputs, constants, iotas and arithmetic
      (`mlir::InferIntRangeInterface`). If the range is not within [0, n), it inserts a `cs336.check_bound`: for
      integers of parameters and of state, conversions of floating-point numbers, and arithmetic that may leave the
      bounds. Indices that `cs336.max` and `cs336.min` clamp need no check.

    Run it after `cs336-name-ports`, which distinguishes inputs from variables, and before `cs336-decompose`, which
    replaces `cross_entropy` by operations without indices. A second run changes nothing.

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

    Counts `num-bounded`, inputs that got a bound; `num-proved`, operands whose indices are proved to be in bounds;
    `num-checked`, operands whose indices are checked at run time.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def DecomposePass : Pass<"cs336-decompose"> {
  let summary = "Replace composite operations with primitives";
  let description = [{
    Replaces every operation that implements `DecomposableOpInterface` with its formula in other operations. It repeats
    this until no such operation is left: `linear`, `silu`, `relu`, `gelu`, `rms_norm`, `layer_norm`, `rope` and
    `cross_entropy`. The new operations get the location of the composite.

    Run it after `cs336-autocast` and `cs336-merge-gemms`, which work on composites. A composite that cannot be
    decomposed is an error.

    Before:

    ```mlir
    %y = cs336.silu %x : tensor<4x8xf32>
    ```

    After:

    ```mlir
    %s = cs336.sigmoid %x : tensor<4x8xf32>
    %y = cs336.mul %x, %s : tensor<4x8xf32>
    ```

    Remark: `Decomposed` for each composite.

    Counts `num-decomposed`, composites replaced.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def NamePortsPass : Pass<"cs336-name-ports", "::mlir::ModuleOp"> {
  let summary = "Turn public functions without a mode into entry points";
  let description = [{
    Gives a mode, kinds and names to every function that is not private and has no `cs336.mode`. Any function of the
    dialect can then be compiled and run.

    - The mode is that of the option.
    - Arguments without a kind become inputs. In mode `forward_backward`, floating-point arguments become parameters.
    - Results without a kind become outputs.
    - Arguments without a name are called `arg0`, `arg1`, …, and results `result0`, `result1`, …. In the modes `loss`
      and `forward_backward`, the first result is called `loss` if it is a floating-point scalar.

    It is the first pass of the pipeline. Functions that have a mode do not change. An argument or a result that is not
    a tensor of a supported type is an error.

    Before:

    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    ```

    After:

    ```mlir
    func.func @f(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "arg0"})
        -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "result0"}) attributes {cs336.mode = #cs336.mode<forward>} {
    ```

    Counts `num-entries`, functions that became entry points.
  }];
  let options = [Option<"mode", "mode", "::cs336::Mode", "::cs336::Mode::Forward",
                        "Mode of functions without one (default: forward)",
                        [{::llvm::cl::values(
    clEnumValN(::cs336::Mode::Forward, "forward", "arguments are inputs, results are outputs"),
    clEnumValN(::cs336::Mode::Loss, "loss", "as forward, and a scalar first result is called \"loss\""),
    clEnumValN(::cs336::Mode::ForwardBackward, "forward_backward",
               "as loss, and floating-point arguments are parameters"))}]>];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def PrintCostPass : Pass<"cs336-print-cost", "::mlir::ModuleOp"> {
  let summary = "Print counts, FLOPs and bytes by function, phase and operation";
  let description = [{
    Prints a table of costs for each function and does not change the IR. The costs are those of `CostOpInterface`. The
    bytes of an operation are those of all its operands and results, each counted once. To see the effect of fusion,
    compare the tables before and after it. Operations without costs are counted on a separate line. The table goes to
    the standard error stream, like that of upstream's `--print-op-stats`.

    ```
    @forward (forward)
      phase    operation        count        FLOPs        bytes
      forward  cs336.linear         1         4096         1152
      …
    ```
  }];
}

#endif // CS336_DIALECT_CS336_TRANSFORMS_PASSES_TD
