//===- ExecModuleOps.td - Variables, kernels and entry points -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECMODULEOPS_TD
#define CS336_DIALECT_EXEC_IR_EXECMODULEOPS_TD

include "cs336/Dialect/Exec/IR/ExecOpBase.td"

def Exec_VariableOp : Exec_Op<"variable", [Symbol]> {
  let summary = "Storage that lives as long as a session";
  let description = [{
    | kind | contents | in checkpoints |
    |---|---|---|
    | `parameter` | trained values | yes |
    | `state` | optimizer moments and step counters | yes |
    | `derived` | values that an entry of mode `prepare` computes | no |

    `views` names the row ranges of a packed parameter. They must cover dimension 0. `init` describes the initial values,
    if no checkpoint is loaded. Without it, a parameter must be loaded or set, and other variables begin with zeros.

    With `shards` n, at least 2, the variable is sharded over the n ranks of the program: the type is that of the part
    that each rank stores, and rank r stores part r of n equal parts along dimension 0. `views`, `init` and checkpoints
    are those of the whole variable, which has n times as many rows. Only floating-point variables of rank 1 or more
    can be sharded.

    With `gathered`, each rank also has storage for the parts of the other ranks. Its own part lies in between, at its
    place in the whole. `exec.get gathered` names the storage of the whole. The parts of other ranks have values only
    in an entry that gathers them: checkpoints and callers see the own part. The parts must be multiples of 256 bytes.

    With `kept` too, the parts of other ranks keep their values after an entry, and entries may read them without
    gathering. An entry of mode `prepare` must gather them, because callers set the own part before it. Every other
    entry that writes the own part must gather them afterwards.

    ```mlir
    exec.variable @"layers.0.ln1.weight" parameter : memref<64xf32> {init = #cs336.init<ones>}
    exec.variable @"lm_head.weight" parameter : memref<5000x128xf32> {shards = 2 : i64}
    exec.variable @"shadow.bf16.lm_head.weight" derived : memref<5000x128xbf16> {gathered, shards = 2 : i64}
    exec.variable @"shadow.bf16.layers.0.ffn.w2.weight" derived : memref<64x256xbf16> {gathered, kept, shards = 2 : i64}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_VariableKindAttr:$kind, TypeAttrOf<Exec_Storage>:$type,
                       OptionalAttr<TypedArrayAttrBase<CS336_ViewAttr, "array of #cs336.view">>:$views,
                       OptionalAttr<CS336_InitAttr>:$init, OptionalAttr<I64Attr>:$shards, UnitAttr:$gathered,
                       UnitAttr:$kept);
  let assemblyFormat = "$sym_name `` $kind `:` $type attr-dict";
  let extraClassDeclaration = [{
    /// The parts of a gathered variable are multiples of this many bytes, so that each is aligned like a variable.
    static constexpr int64_t kPartAlignment = 256;
    /// Returns the type of what a rank stores: of the whole variable, or of one shard.
    ::mlir::MemRefType getBufferType() { return ::llvm::cast<::mlir::MemRefType>(getType()); }
    /// Returns the number of parts of a sharded variable; 1 for a whole one.
    int64_t getNumShards() { return getShards().value_or(1); }
    /// Returns the type of the whole variable.
    ::mlir::MemRefType getWholeType();
    /// Returns the type of the storage that a rank reserves.
    ::mlir::MemRefType getReservedType() { return getGathered() ? getWholeType() : getBufferType(); }
  }];
  let hasVerifier = 1;
}

def Exec_KernelOp : Exec_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A group of operations that one launch executes";
  let description = [{
    The body computes on tensors, with operations that implement `cs336::FusibleOpInterface`. The signature describes
    the layouts in memory: its inputs are the strided layouts of the body's arguments, and its results are those of the
    yielded values. Offsets are 0, because a launch passes the address of element 0.

    If a result of a launch is also an operand, the launch writes over that operand. This is valid only for kernels for
    which `canWriteOver` returns true.

    ```mlir
    exec.kernel @sigmoid_mul_3f2a(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>)
        : (memref<4x8xf32>, memref<4x8xf32, strided<[16, 1]>>) -> memref<4x8xf32> {
      %0 = cs336.sigmoid %a : tensor<4x8xf32>
      %1 = cs336.mul %0, %b : tensor<4x8xf32>
      exec.yield %1 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$signature);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::FunctionType getFunctionSignature() { return ::llvm::cast<::mlir::FunctionType>(getSignature()); }
    /// Return the layouts of the operands and of the results.
    ::llvm::ArrayRef<::mlir::Type> getInTypes() { return getFunctionSignature().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getOutTypes() { return getFunctionSignature().getResults(); }
    /// Returns the values that the body computes.
    ::mlir::OperandRange getYieldedValues() { return getBody().front().getTerminator()->getOperands(); }
    /// Returns whether result `out` may be written to the buffer of operand `in`. Their layouts are equal, every
    /// operation is pointwise or reduces rows, and no element or row of the operand is needed after the element or row
    /// of the result at the same position is computed. If the result needs reductions, a whole row is read before any
    /// element of it is written.
    bool canWriteOver(unsigned in, unsigned out);
    /// Returns whether elements of result `out` need reductions.
    bool writesRows(unsigned out);
  }];
}

def Exec_YieldOp : Exec_Op<"yield", [Terminator, ReturnLike, Pure, HasParent<"KernelOp">]> {
  let summary = "Terminates a kernel and yields its results";
  let description = "See `exec.kernel`.";
  let arguments = (ins Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "($results^ `:` type($results))? attr-dict";
  let builders = [OpBuilder<(ins), [{ /* nothing is yielded */ }]>];
}

def Exec_EntryOp : Exec_Op<"entry", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments,
                                     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A program that a session runs as a whole";
  let description = [{
    An entry contains only buffers and commands. `arena_bytes` and `alignment` are in bytes, set by
    `--exec-plan-memory`.

    The verifier follows the commands in order and checks that:

    - a command reads only variables, inputs, and storage that an earlier command wrote;
    - some command writes each output, and none writes an input;
    - only `train` entries write parameters, and only `train` and `prepare` entries write other variables;
    - the parts of other ranks have values when a command reads them, and those of `kept` variables when the entry ends;
    - no command reads storage that it writes through another view, and no command writes the same storage twice.
      Buffers in one piece of storage overlap if the ranges from their first to their last element overlap;
    - each event is recorded at most once, and before any wait for it;
    - the indices that kernels use are within their bounds.

    ```mlir
    exec.entry @forward mode<forward> arena_bytes = 4096 alignment = 64 {
      ...
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, CS336_ModeAttr:$mode, OptionalAttr<Exec_Bytes>:$arena_bytes,
                       OptionalAttr<Exec_Alignment>:$alignment);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `mode` `` $mode (`arena_bytes` `=` $arena_bytes^)? (`alignment` `=` $alignment^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

#endif // CS336_DIALECT_EXEC_IR_EXECMODULEOPS_TD
