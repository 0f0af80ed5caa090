//===- ExecIndexOps.td - Commands that check indices -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECINDEXOPS_TD
#define CS336_DIALECT_EXEC_IR_EXECINDEXOPS_TD

include "cs336/Dialect/Exec/IR/ExecOpBase.td"

def Exec_CheckBoundOp : Exec_Op<"check_bound", [HasParent<"EntryOp">, Exec_CommandOpInterface]> {
  let summary = "The source's integers, all in [0, bound), or the run fails";
  let description = [{
    Copies a dense buffer of integers to another. Where one of them is outside of [0, bound) the run fails with an error that names
    the command, the first such position and the integer there. A host fails before the next command; a device that has run ahead
    reads 0 from the target until the host comes to wait for it.

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

#endif // CS336_DIALECT_EXEC_IR_EXECINDEXOPS_TD
