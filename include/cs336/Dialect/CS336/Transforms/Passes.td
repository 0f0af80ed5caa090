//===- Passes.td - Passes over the cs336 dialect -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_PASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_PASSES_TD

include "cs336/Dialect/CS336/Transforms/FusionPasses.td"
include "cs336/Dialect/CS336/Transforms/MixedPrecisionPasses.td"
include "cs336/Dialect/CS336/Transforms/TrainingPasses.td"
include "mlir/Pass/PassBase.td"

def DecomposePass : Pass<"cs336-decompose"> {
  let summary = "Composite operations become primitives";
  let description = [{
    Replaces every operation that implements `DecomposableOpInterface` by what it says of itself, until none is left:
    `linear`, `silu`, `relu`, `gelu`, `rms_norm`, `layer_norm`, `rope`, `cross_entropy`. New operations take the location of
    the composite.

    Contract: after `cs336-autocast` and `cs336-merge-gemms`, which are about composites.

    Before:

    ```mlir
    %y = cs336.silu %x : tensor<4x8xf32>
    ```

    After:

    ```mlir
    %s = cs336.sigmoid %x : tensor<4x8xf32>
    %y = cs336.mul %x, %s : tensor<4x8xf32>
    ```

    Counts `num-decomposed`, composites replaced.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def NamePortsPass : Pass<"cs336-name-ports", "::mlir::ModuleOp"> {
  let summary = "Public functions without a mode become entry points";
  let description = [{
    A function that is not private and has no `cs336.mode` gets the mode of the option, and its arguments and results get the
    kinds and names that they lack: arguments are inputs, but parameters where they are floating-point and the mode has a
    backward pass; results are outputs. Names are `arg0`, `arg1`, …, `result0`, …; a first result that is a floating-point
    scalar is called `loss` in modes that have one. So any function of the dialect compiles and runs.

    Contract: functions that have a mode are left as they are. First in the pipeline.

    Before:

    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    ```

    After:

    ```mlir
    func.func @f(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "arg0"})
        -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "result0"}) attributes {cs336.mode = #cs336.mode<forward>} {
    ```

    Counts `num-entries`, functions made entry points.
  }];
  let options = [Option<"mode", "mode", "::cs336::Mode", "::cs336::Mode::Forward", "Mode of functions that have none",
                        [{::llvm::cl::values(
    clEnumValN(::cs336::Mode::Forward, "forward", "arguments are inputs, results outputs"),
    clEnumValN(::cs336::Mode::Loss, "loss", "the same; the result is called \"loss\""),
    clEnumValN(::cs336::Mode::ForwardBackward, "forward_backward", "gradients of the loss for floating-point arguments"))}]>];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def PrintCostPass : Pass<"cs336-print-cost", "::mlir::ModuleOp"> {
  let summary = "Prints counts, FLOPs and bytes by operation kind, phase and function";
  let description = [{
    Reads `CostOpInterface`. Bytes are those of every operation standing alone, all operands and results once: what
    fusion saves is the difference to a later print. Operations without costs are counted apart. The table goes to the
    standard error stream, as upstream's `--print-op-stats` does; the IR does not change.

    ```
    @forward (forward)
      phase    operation        count        FLOPs        bytes
      forward  cs336.linear         1         4096         1152
      …
    ```
  }];
}

#endif // CS336_DIALECT_CS336_TRANSFORMS_PASSES_TD
