//===- CommandLoweringInterface.td - Operations that become commands -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_CONVERSION_CS336TOEXEC_COMMANDLOWERINGINTERFACE_TD
#define CS336_CONVERSION_CS336TOEXEC_COMMANDLOWERINGINTERFACE_TD

include "mlir/IR/OpBase.td"

def CommandLoweringInterface : OpInterface<"CommandLoweringInterface"> {
  let cppNamespace = "::cs336";
  let description = [{
    An operation that becomes commands other than a kernel launch, such as a GEMM or a collective.
    `registerCommandLoweringModels` attaches the interface to the operations of the cs336 dialect.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds commands that compute the results. `operands` has one buffer per operand, with any strides. `results` has
      one dense storage per result. No operand shares it, except whole operands of the same layout that the result may
      write over. If an operand must be copied first, the operation builds the copy.
    }], "::mlir::LogicalResult", "lowerToCommands",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::mlir::ValueRange":$results)>,
    InterfaceMethod<[{
      Returns whether the commands may write this result over this operand, if both have the same layout.
    }], "bool", "mayWriteOver", (ins "unsigned":$operand, "unsigned":$result), "", "return false;">];
}

#endif // CS336_CONVERSION_CS336TOEXEC_COMMANDLOWERINGINTERFACE_TD
