//===- ExecCommandOps.td - Launches, GEMMs, copies, collectives, events -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECCOMMANDOPS_TD
#define CS336_DIALECT_EXEC_IR_EXECCOMMANDOPS_TD

include "cs336/Dialect/Exec/IR/ExecOpBase.td"

// A command may name its stream. The default is stream 0.
class Exec_CommandOp<string mnemonic, list<Trait> traits = []> : Exec_Op<mnemonic, traits # [HasParent<"EntryOp">, Exec_CommandOpInterface]> {
  dag streamArgument = (ins DefaultValuedAttr<Exec_NonNegative, "0">:$stream);
}

def Exec_LaunchOp : Exec_CommandOp<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel";
  let description = [{
    The layouts of the buffers must equal those of the kernel's signature, apart from their offsets. A buffer in both
    `ins` and `outs` is written in place. `workspace` is memory that the kernel uses during the command only (see
    `--exec-add-workspaces`).

    Errors: a symbol that is not an `exec.kernel`, buffers of other numbers or layouts, and a write in place that the
    kernel does not allow.

    ```mlir
    exec.launch @sigmoid_mul_3f2a ins(%a, %b : memref<4x8xf32>, memref<4x8xf32>) outs(%a : memref<4x8xf32>)
    ```
  }];
  let arguments = !con((ins FlatSymbolRefAttr:$kernel, Variadic<Exec_Buffer>:$inputs, Variadic<Exec_Buffer>:$outputs,
                            Optional<Exec_Workspace>:$workspace), streamArgument);
  let assemblyFormat = [{
    $kernel (`ins` `(` $inputs^ `:` type($inputs) `)`)? `outs` `(` $outputs `:` type($outputs) `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict
  }];
  let builders = [OpBuilder<(ins "::mlir::FlatSymbolRefAttr":$kernel, "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs)>];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getReads() { return ::llvm::SmallVector<::mlir::Value>(getInputs()); }
    ::llvm::SmallVector<::mlir::Value> getWrites();
    std::string getCommandName() { return getKernel().str(); }
  }];
}

def Exec_GemmOp : Exec_CommandOp<"gemm", [AttrSizedOperandSegments]> {
  let summary = "C = A·B, batched, with an epilogue";
  let description = [{
        C = relu(A·B + addend + bias)

    The addend, the bias and the ReLU are optional.

    | part | shape and meaning |
    |---|---|
    | A, B, C | […, M, K], […, K, N] and […, M, N], with equal leading sizes |
    | strides | one of the last two is 1, and the other is at least the size of the axis with stride 1; axes of size 1 have any stride |
    | element type | one floating-point type for A and B; bf16 and f16 accumulate in f32 |
    | addend (`add`) | the layout of C; it may be the same buffer as C |
    | `bias` | dense, N elements of C's type, added to every row; the rows of C must be contiguous |
    | `relu` | elements that are at most 0 become 0; NaN stays NaN |
    | `precision` | the arithmetic of f32; other types ignore it |
    | `workspace` | memory for the library that computes the GEMM |

    All terms are added before the sum is rounded to C's type. Transposition and batches that share a matrix are
    expressed with strides.

    Errors: an operand other than the addend that is the same buffer as C, and everything that the table excludes.

    ```mlir
    exec.gemm ins(%x, %wt : memref<96x64xf32>, memref<64x192xf32, strided<[1, 64]>>) outs(%y : memref<96x192xf32>)
    exec.gemm ins(%h, %wt : memref<96x64xf32>, memref<64x192xf32, strided<[1, 64]>>) add(%y : memref<96x192xf32>) outs(%z : memref<96x192xf32>)
    exec.gemm ins(%h, %wt : memref<96x64xf32>, memref<64x192xf32, strided<[1, 64]>>) bias(%c : memref<192xf32>) outs(%z : memref<96x192xf32>) {relu}
    ```
  }];
  let arguments = !con((ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, Optional<Exec_Buffer>:$addend, Optional<Exec_Buffer>:$bias,
                            Exec_Buffer:$output, UnitAttr:$relu,
                            DefaultValuedAttr<CS336_PrecisionAttr, "::cs336::Precision::IEEE">:$precision,
                            Optional<Exec_Workspace>:$workspace), streamArgument);
  let assemblyFormat = [{
    `ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)` (`add` `(` $addend^ `:` type($addend) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)? `outs` `(` $output `:` type($output) `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? (`precision` `=` custom<Enumerator>($precision)^)? attr-dict
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::Value":$output, "::cs336::Precision":$precision,
                                 CArg<"::mlir::Value", "{}">:$addend)>];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getReads();
    ::llvm::SmallVector<::mlir::Value> getWrites();
    /// Returns whether a GEMM can read or write a buffer of this layout.
    static bool acceptsLayout(::mlir::MemRefType type);
  }];
  let hasVerifier = 1;
}

// One buffer in, one out.
class Exec_TransferOp<string mnemonic> : Exec_CommandOp<mnemonic> {
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getReads() { return {getSource()}; }
    ::llvm::SmallVector<::mlir::Value> getWrites() { return {getTarget()}; }
  }];
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_TransferOp<"copy"> {
  let summary = "Copies a buffer, possibly to another layout";
  let description = [{
    The source and the target have the same sizes and the same element type. Their strides and offsets may differ.

    ```mlir
    exec.copy ins(%a : memref<2x4x8xf32, strided<[32, 1, 4]>>) outs(%b : memref<2x4x8xf32>)
    ```
  }];
  let arguments = !con((ins Exec_Buffer:$source, Exec_Buffer:$target), streamArgument);
  let assemblyFormat = "`ins` `(` $source `:` type($source) `)` `outs` `(` $target `:` type($target) `)` attr-dict";
}

def Exec_CollectiveOp : Exec_CommandOp<"collective", [AttrSizedOperandSegments]> {
  let summary = "Communication between all ranks of a group, on dense buffers";
  let description = [{
    See `cs336.collective` for the kinds, the reductions and the shapes. Each source has a target of the same element
    type. A target may be its own source if both have the same shape, except for `all_to_all`. A target must not be
    another operand's source or target. The parts of a source of `all_to_all` [parts, rows, columns] may be columns of a
    dense matrix [rows, parts·columns].

    With `others`, the targets of `all_gather` and `all_to_all` have no part of this rank: they have the parts of the
    other ranks in order, one less than there are ranks.

    Errors: other buffers that are not dense, a target that the command must not overwrite, `others` for another kind or
    for one rank, and everything that `cs336.collective` excludes.

    ```mlir
    exec.collective all_reduce mean ins(%a : memref<64xf32>) outs(%a : memref<64xf32>) group = 4
    exec.collective all_gather ins(%s, %t : memref<16x8xf32>, memref<2xbf16>) outs(%x, %y : memref<64x8xf32>, memref<8xbf16>) group = 4
    exec.collective broadcast ins(%a : memref<64xf32>) outs(%b : memref<64xf32>) group = 4 root = 2
    exec.collective all_to_all ins(%c : memref<2x64x8xf32, strided<[8, 16, 1]>>) outs(%d : memref<2x64x8xf32>) group = 2
    exec.collective all_gather others ins(%s : memref<16x8xf32>) outs(%z : memref<48x8xf32>) group = 4
    ```
  }];
  let arguments = !con((ins CS336_CollectiveKindAttr:$kind, OptionalAttr<CS336_CollectiveReductionAttr>:$reduction,
                            Variadic<Exec_Buffer>:$sources, Variadic<Exec_Buffer>:$targets, I64Attr:$group,
                            OptionalAttr<I64Attr>:$root, UnitAttr:$others), streamArgument);
  let assemblyFormat = [{
    custom<CollectiveKind>($kind, $reduction) (`others` $others^)? `ins` `(` $sources `:` type($sources) `)`
    `outs` `(` $targets `:` type($targets) `)` `group` `=` $group (`root` `=` $root^)? attr-dict
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getReads() { return ::llvm::SmallVector<::mlir::Value>(getSources()); }
    ::llvm::SmallVector<::mlir::Value> getWrites() { return ::llvm::SmallVector<::mlir::Value>(getTargets()); }
    std::string getCommandName();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

def Exec_RecordOp : Exec_CommandOp<"record"> {
  let summary = "Records an event that completes with all earlier work of its stream";
  let description = [{
    An entry records each event at most once.

    `exec.record 3 {stream = 1 : i64}`
  }];
  let arguments = !con((ins Exec_NonNegative:$event), streamArgument);
  let assemblyFormat = "$event attr-dict";
  let extraClassDeclaration = "std::optional<uint64_t> getRecordedEvent() { return getEvent(); }";
}

def Exec_WaitOp : Exec_CommandOp<"wait"> {
  let summary = "Makes later work of the stream wait for an event";
  let description = [{
    An earlier command must record the event.

    `exec.wait 3 {stream = 0 : i64}`
  }];
  let arguments = !con((ins Exec_NonNegative:$event), streamArgument);
  let assemblyFormat = "$event attr-dict";
  let extraClassDeclaration = "std::optional<uint64_t> getAwaitedEvent() { return getEvent(); }";
}

def Exec_CheckBoundOp : Exec_CommandOp<"check_bound"> {
  let summary = "Copies integers, after a check that all are in [0, bound)";
  let description = [{
    Copies a dense buffer of integers to another. If an integer is outside of [0, bound), the run fails with an error
    that names the command, the first such position and the integer there. A CPU session fails before the next command.
    A device may execute later commands before the host waits for it and gets the error. In the target, 0 replaces such
    integers, so that these commands stay in bounds.

    ```mlir
    exec.check_bound ins(%ids : memref<3x32xi64>) outs(%checked : memref<3x32xi64>) bound = 97
    ```
  }];
  let arguments = (ins Exec_Buffer:$source, Exec_Buffer:$target, I64Attr:$bound,
                       DefaultValuedAttr<Exec_NonNegative, "0">:$stream);
  let assemblyFormat = [{
    `ins` `(` $source `:` type($source) `)` `outs` `(` $target `:` type($target) `)` `bound` `=` $bound attr-dict
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getReads() { return {getSource()}; }
    ::llvm::SmallVector<::mlir::Value> getWrites() { return {getTarget()}; }
  }];
  let hasVerifier = 1;
}

#endif // CS336_DIALECT_EXEC_IR_EXECCOMMANDOPS_TD
