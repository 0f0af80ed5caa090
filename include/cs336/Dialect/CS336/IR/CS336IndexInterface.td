//===- CS336IndexInterface.td - Operations that take indices -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336INDEXINTERFACE_TD
#define CS336_DIALECT_CS336_IR_CS336INDEXINTERFACE_TD

include "mlir/IR/OpBase.td"

def CS336_IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::cs336";
  let description = [{
    The integers of some operands name places of another tensor, which the operation reads or writes. The operation does not check
    them: `cs336-bound-indices` proves that they are in bounds, or has them checked as the program runs, and the verifier of
    `exec.entry` refuses a launch whose indices nothing bounds.
  }];
  let methods = [InterfaceMethod<"Returns the operands that contain indices, each with its bound.",
    "::llvm::SmallVector<::cs336::IndexUse>", "getIndexUses", (ins)>];
}

#endif // CS336_DIALECT_CS336_IR_CS336INDEXINTERFACE_TD
