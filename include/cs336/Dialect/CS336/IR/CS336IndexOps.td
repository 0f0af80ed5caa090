//===- CS336IndexOps.td - Indices that are checked as a program runs -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336INDEXOPS_TD
#define CS336_DIALECT_CS336_IR_CS336INDEXOPS_TD

include "cs336/Dialect/CS336/IR/CS336OpBase.td"

def CS336_CheckBoundOp : CS336_Op<"check_bound", [Cost, AllTypesMatch<["operand", "result"]>]> {
  let summary = "The operand, after a check that all its integers are in [0, bound)";
  let description = [{
    If an integer is outside of [0, bound), the run fails with an error that names the operation, the first such
    position and the integer there. A device may execute later commands before the error is returned. In the result, 0
    replaces such integers, so that these commands stay in bounds.

    `cs336-bound-indices` inserts it before operations whose indices are not proved to be in bounds.

    ```mlir
    %checked = cs336.check_bound %ids bound = 97 : tensor<3x32xi64>
    ```
  }];
  let arguments = (ins CS336_IntTensor:$operand, I64Attr:$bound);
  let results = (outs CS336_IntTensor:$result);
  let assemblyFormat = "$operand `bound` `=` $bound attr-dict `:` type($result)";
  let extraClassDeclaration = "bool mayRecompute() { return false; }";
  let hasVerifier = 1;
}

#endif // CS336_DIALECT_CS336_IR_CS336INDEXOPS_TD
