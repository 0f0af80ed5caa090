//===- ExecBufferOps.td - Storage and views of storage -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECBUFFEROPS_TD
#define CS336_DIALECT_EXEC_IR_EXECBUFFEROPS_TD

include "cs336/Dialect/Exec/IR/ExecOpBase.td"

class Exec_StorageOp<string mnemonic, string storageKind, list<Trait> traits = []>
    : Exec_Op<mnemonic, traits # [HasParent<"EntryOp">, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
                                  Exec_BufferOpInterface]> {
  let results = (outs Exec_Storage:$result);
  let extraClassDeclaration = "::cs336::exec::StorageKind getStorageKind() { return ::cs336::exec::StorageKind::" # storageKind # "; }\n";
}

def Exec_GetOp : Exec_StorageOp<"get", "Variable", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The storage of a variable";
  let description = [{
    Names a variable of the module. The result has the variable's type. An entry may name the same variable more than
    once.

    With `gathered`, the result is the storage of all parts of a sharded variable, which must have the attribute
    `gathered`. It has as many times the rows as there are parts. The own part lies in it, at a place that depends on
    the rank: a command must not access both, except for an all_gather of the part into this storage.

    Errors: a symbol that is not an `exec.variable`, and a type that differs from the variable's.

    ```mlir
    %ln.weight = exec.get @ln.weight : memref<64xf32>
    %lm_head.weight = exec.get @lm_head.weight : memref<5000x128xf32>
    %gathered = exec.get gathered @lm_head.weight : memref<10000x128xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, UnitAttr:$gathered);
  let assemblyFormat = "(`gathered` $gathered^)? $variable attr-dict `:` type($result)";
}

def Exec_InputOp : Exec_StorageOp<"input", "Input"> {
  let summary = "A buffer that the caller provides for every run";
  let description = [{
    Commands must not write it. With `bound`, the elements are i64 or i32 and must be in `[0, bound)`. The runtime
    checks this before a run. Input names are unique in an entry.

    ```mlir
    %tokens = exec.input "tokens" bound = 97 : memref<3x32xi64>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$bound);
  let assemblyFormat = "$name (`bound` `=` $bound^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

class Exec_ArenaStorageOp<string mnemonic, string storageKind, list<string> methods = []>
    : Exec_StorageOp<mnemonic, storageKind, [DeclareOpInterfaceMethods<Exec_ArenaOpInterface, methods>]>;

def Exec_OutputOp : Exec_ArenaStorageOp<"output", "Output", ["outlivesCommands"]> {
  let summary = "A buffer that the caller reads after every run";
  let description = [{
    The storage is valid from its first write to the next run of any entry, because all entries use the same arena. Some
    command must write it. Output names are unique in an entry. `offset` is its position in the arena in bytes, set by
    `--exec-plan-memory`. `views` names the row ranges of the gradient of a packed parameter.

    ```mlir
    %loss = exec.output "loss" output offset = 128 : memref<f32>
    ```
  }];
  let arguments = (ins StrAttr:$name, Exec_OutputKindAttr:$kind, OptionalAttr<Exec_Bytes>:$offset,
                       OptionalAttr<TypedArrayAttrBase<CS336_ViewAttr, "array of #cs336.view">>:$views);
  let assemblyFormat = "$name `` $kind (`offset` `=` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Exec_AllocOp : Exec_ArenaStorageOp<"alloc", "Arena"> {
  let summary = "Temporary storage, from its first write to its last use";
  let description = [{
    `offset` is the position in the entry's arena in bytes, set by `--exec-plan-memory`.

    ```mlir
    %q_proj = exec.alloc offset = 24576 : memref<3x32x64xf32>
    ```
  }];
  let arguments = (ins OptionalAttr<Exec_Bytes>:$offset);
  let assemblyFormat = "(`offset` `=` $offset^)? attr-dict `:` type($result)";
}

def Exec_ViewOp : Exec_Op<"view", [Pure, HasParent<"EntryOp">, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
                                   Exec_BufferOpInterface]> {
  let summary = "A buffer with other sizes, strides and offset in the same storage";
  let description = [{
    The strides and the offset of the result count elements from the start of the storage, whatever the layout of the
    source. A stride of 0 repeats elements. The element type does not change. All elements must lie within the storage.

    ```mlir
    %k = exec.view %qkv : memref<96x192xf32> to memref<96x64xf32, strided<[192, 1], offset: 64>>
    ```
  }];
  let arguments = (ins Exec_Buffer:$source);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let extraClassDeclaration = [{
    ::mlir::Value getViewSource() { return getSource(); }
    ::cs336::exec::StorageKind getStorageKind();
  }];
  let hasVerifier = 1;
}

def Exec_PartOp : Exec_Op<"part", [Pure, HasParent<"EntryOp">, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>, Exec_BufferOpInterface]> {
  let summary = "A rank's part of a buffer that has a part for each rank";
  let description = [{
    Axis 0 of the source has the parts of all ranks. The result is the part of rank (own rank + `shift`) mod ranks; it is
    the own part without a shift. Its place in the storage depends on the rank. Therefore it has no views, and the
    verifier treats it as all parts. Commands write only parts whose bytes do not overlap.

    Errors: a result that is not of the source's type without axis 0; a source that is neither in an allocation nor in a
    variable without shards; a source of integers; a `shift` that is not below the number of ranks; and parts whose
    distance is not a multiple of 64 bytes.

    ```mlir
    %own = exec.part %columns : memref<2x64x512xbf16, strided<[64, 1, 128]>> -> memref<64x512xbf16, strided<[1, 128]>>
    %next = exec.part rank + 1 of %rows : memref<2x64x64xbf16> -> memref<64x64xbf16>
    ```
  }];
  let arguments = (ins Exec_Buffer:$source, DefaultValuedOptionalAttr<Exec_NonNegative, "0">:$shift);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = "(`rank` `+` $shift^ `of`)? $source attr-dict `:` type($source) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::MemRefType":$result, "::mlir::Value":$source, CArg<"int64_t", "0">:$shift)>];
  let extraClassDeclaration = [{
    /// The distances of parts in bytes are multiples of this, so that a part is aligned like storage.
    static constexpr int64_t kDistance = 64;

    ::mlir::Value getViewSource() { return getSource(); }
    ::cs336::exec::StorageKind getStorageKind();
    /// Returns the number of ranks.
    int64_t getNumParts() { return ::llvm::cast<::mlir::MemRefType>(getSource().getType()).getDimSize(0); }
    /// Returns the bytes between the starts of the parts of two consecutive ranks.
    int64_t getPartDistance();
  }];
  let hasVerifier = 1;
}

#endif // CS336_DIALECT_EXEC_IR_EXECBUFFEROPS_TD
