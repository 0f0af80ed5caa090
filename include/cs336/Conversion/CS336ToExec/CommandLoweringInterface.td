//===- CommandLoweringInterface.td - Operations that become commands of their own -===//
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
    The operation becomes commands other than a kernel launch: a matrix product, a collective. The operations of the cs336
    dialect get it from `registerCommandLoweringModels`.
  }];
  let methods = [InterfaceMethod<[{
      Builds commands that compute the operation from `operands` (a buffer an operand, of any strides) into `results` (dense
      storage, one an result, that no operand shares). Required copies of operands are the operation's business.
    }], "::mlir::LogicalResult", "lowerToCommands",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::mlir::ValueRange":$results)>];
}

#endif // CS336_CONVERSION_CS336TOEXEC_COMMANDLOWERINGINTERFACE_TD
