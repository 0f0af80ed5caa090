//===- ExecCommandOps.td - Launches, products, copies, collectives, events -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECCOMMANDOPS_TD
#define CS336_DIALECT_EXEC_IR_EXECCOMMANDOPS_TD

include "cs336/Dialect/Exec/IR/ExecOpBase.td"

// Every command may name its stream; without one it runs on stream 0.
class Exec_CommandOp<string mnemonic, list<Trait> traits = []> : Exec_Op<mnemonic, traits # [HasParent<"EntryOp">, Exec_CommandOpInterface]> {
  dag streamArgument = (ins DefaultValuedAttr<Exec_NonNegative, "0">:$stream);
}

def Exec_LaunchOp : Exec_CommandOp<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel";
  let description = [{
    Layouts equal those of the kernel's signature, apart from offsets. A buffer may stand in both `ins` and `outs`: the kernel
    writes over it. `workspace` is scratch that the kernel writes and reads within the command (see `--exec-add-workspaces`).

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
  let summary = "C = alpha·A·B + beta·C, batched";
  let description = [{
    A: […, M, K], B: […, K, N], C: […, M, N], with equal leading sizes. Transposition and sharing between batches are a matter of
    strides. Of the last two strides of each operand one is 1 and the other at least as large as the axis of stride 1 is long
    (axes of size 1 have no say). bf16 and f16 accumulate in f32. `precision` is about f32 only. `beta` is 0 or 1; with 0, C is not read.
    With an addend D, which lies as C does, C = alpha·A·B + D; `beta` is 0 then. A dense bias of N elements is added to every
    row, whose elements are then contiguous; alpha is 1 then. All of it is summed before the one rounding to C's type; with `relu`, what is at most
    0 is then 0, and a NaN stays. `workspace` is scratch for the library that computes the product.

    ```mlir
    exec.gemm ins(%x, %wt : memref<96x64xf32>, memref<64x192xf32, strided<[1, 64]>>) outs(%y : memref<96x192xf32>)
    exec.gemm ins(%h, %wt : memref<96x64xf32>, memref<64x192xf32, strided<[1, 64]>>) add(%y : memref<96x192xf32>) outs(%z : memref<96x192xf32>)
    exec.gemm ins(%h, %wt : memref<96x64xf32>, memref<64x192xf32, strided<[1, 64]>>) bias(%c : memref<192xf32>) outs(%z : memref<96x192xf32>) {relu}
    ```
  }];
  let arguments = !con((ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, Optional<Exec_Buffer>:$addend, Optional<Exec_Buffer>:$bias,
                            Exec_Buffer:$output, UnitAttr:$relu, DefaultValuedAttr<F64Attr, "1.0">:$alpha,
                            DefaultValuedAttr<F64Attr, "0.0">:$beta,
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
    /// Whether a product can read or write a buffer of this layout.
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
  let summary = "The same elements in another place or layout";
  let description = [{
    ```mlir
    exec.copy ins(%a : memref<2x4x8xf32, strided<[32, 1, 4]>>) outs(%b : memref<2x4x8xf32>)
    ```
  }];
  let arguments = !con((ins Exec_Buffer:$source, Exec_Buffer:$target), streamArgument);
  let assemblyFormat = "`ins` `(` $source `:` type($source) `)` `outs` `(` $target `:` type($target) `)` attr-dict";
}

//===----------------------------------------------------------------------===//
// Collectives, on dense buffers
//===----------------------------------------------------------------------===//

def Exec_AllReduceOp : Exec_TransferOp<"all_reduce"> {
  let summary = "Combines the buffers of all ranks; every rank has the result";
  let description = [{
    Source and target may be one buffer. `exec.all_reduce sum ins(%a : memref<64xf32>) outs(%a : memref<64xf32>) {world = 4 : i64}`
  }];
  let arguments = !con((ins CS336_ReduceKindAttr:$kind, Exec_Buffer:$source, Exec_Buffer:$target, I64Attr:$world), streamArgument);
  let assemblyFormat = "custom<Enumerator>($kind) `ins` `(` $source `:` type($source) `)` `outs` `(` $target `:` type($target) `)` attr-dict";
}

def Exec_AllGatherOp : Exec_TransferOp<"all_gather"> {
  let summary = "The buffers of all ranks, one after the other along axis 0";
  let description = "`exec.all_gather ins(%a : memref<16x8xf32>) outs(%b : memref<64x8xf32>) {world = 4 : i64}`";
  let arguments = !con((ins Exec_Buffer:$source, Exec_Buffer:$target, I64Attr:$world), streamArgument);
  let assemblyFormat = "`ins` `(` $source `:` type($source) `)` `outs` `(` $target `:` type($target) `)` attr-dict";
}

def Exec_ReduceScatterOp : Exec_TransferOp<"reduce_scatter"> {
  let summary = "Combines the buffers of all ranks; every rank keeps its part along axis 0";
  let description = "`exec.reduce_scatter sum ins(%a : memref<64x8xf32>) outs(%b : memref<16x8xf32>) {world = 4 : i64}`";
  let arguments = !con((ins CS336_ReduceKindAttr:$kind, Exec_Buffer:$source, Exec_Buffer:$target, I64Attr:$world), streamArgument);
  let assemblyFormat = "custom<Enumerator>($kind) `ins` `(` $source `:` type($source) `)` `outs` `(` $target `:` type($target) `)` attr-dict";
}

def Exec_BroadcastRankOp : Exec_TransferOp<"broadcast_rank"> {
  let summary = "Every rank gets the buffer of rank `root`";
  let description = "`exec.broadcast_rank ins(%a : memref<64xf32>) outs(%b : memref<64xf32>) {root = 0 : i64, world = 4 : i64}`";
  let arguments = !con((ins Exec_Buffer:$source, Exec_Buffer:$target, Exec_NonNegative:$root, I64Attr:$world), streamArgument);
  let assemblyFormat = "`ins` `(` $source `:` type($source) `)` `outs` `(` $target `:` type($target) `)` attr-dict";
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

def Exec_RecordOp : Exec_CommandOp<"record"> {
  let summary = "An event that completes with all earlier work of its stream";
  let description = [{
    Every event is recorded once in an entry. `exec.record 3 {stream = 1 : i64}`
  }];
  let arguments = !con((ins Exec_NonNegative:$event), streamArgument);
  let assemblyFormat = "$event attr-dict";
  let extraClassDeclaration = "std::optional<uint64_t> getRecordedEvent() { return getEvent(); }";
}

def Exec_WaitOp : Exec_CommandOp<"wait"> {
  let summary = "Later work of the stream starts after the event";
  let description = [{
    The event was recorded by an earlier command. `exec.wait 3 {stream = 0 : i64}`
  }];
  let arguments = !con((ins Exec_NonNegative:$event), streamArgument);
  let assemblyFormat = "$event attr-dict";
  let extraClassDeclaration = "std::optional<uint64_t> getAwaitedEvent() { return getEvent(); }";
}

#endif // CS336_DIALECT_EXEC_IR_EXECCOMMANDOPS_TD
