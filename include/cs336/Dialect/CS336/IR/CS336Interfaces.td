//===- CS336Interfaces.td - What passes ask of an operation -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336INTERFACES_TD
#define CS336_DIALECT_CS336_IR_CS336INTERFACES_TD

include "mlir/IR/OpBase.td"

def CS336_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::cs336";
  let description = [{
    The operation builds its own adjoint (vector-Jacobian product). Reverse mode asks nothing else of it.
  }];
  let methods = [InterfaceMethod<[{
      Builds the gradients of the loss with respect to the operands. `resultGradients` has one value a result, of that
      result's type, null where the loss does not depend on it (never all null). Fills `operandGradients` with one
      value an operand, of that operand's type, null where there is none (integers, or a derivative that is zero
      everywhere). Operations whose value nothing uses are erased by the caller.
    }], "::mlir::LogicalResult", "buildAdjoint",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>];
}

def CS336_DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::cs336";
  let description = "A composite: the operation can write itself as simpler operations of the dialect.";
  let methods = [InterfaceMethod<"Builds the replacement of every result before the operation.",
    "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose", (ins "::mlir::OpBuilder &":$builder)>];
}

def CS336_AutocastOpInterface : OpInterface<"AutocastOpInterface"> {
  let cppNamespace = "::cs336";
  let description = [{
    The operation names its policy under mixed precision: the low type, float32, the widest of its inputs, as it
    comes (the default for operations without this interface), or explicit.
  }];
  let methods = [
    InterfaceMethod<"The policy.", "::cs336::AutocastPolicy", "getAutocastPolicy", (ins)>,
    InterfaceMethod<"Lets float32 matrix products round their inputs to tf32; others ignore it.",
      "void", "allowTF32", (ins), "", "return;">,
    InterfaceMethod<"Whether a result keeps its type where the others become what the policy computes.",
      "bool", "keepsResultType", (ins "unsigned":$result), "", "return false;">];
}

def CS336_FusibleOpInterface : OpInterface<"FusibleOpInterface"> {
  let cppNamespace = "::cs336";
  let description = [{
    The operation can be a leaf of a kernel: it says of what kind it is and lowers itself to linalg on tensors, the
    one form that every target reads.
  }];
  let methods = [
    InterfaceMethod<"Pointwise, row reduction, assembly or opaque.", "::cs336::FusionKind", "getFusionKind", (ins)>,
    InterfaceMethod<[{
      Of a row reduction: the axes of its operands (of one shape; a mask may have the last axes of it alone) along which
      elements are combined, ascending. The result lacks them, or has that shape where elements depend on whole rows.
    }], "::llvm::SmallVector<int64_t>", "getReducedAxes", (ins), "",
    "return {::llvm::cast<::mlir::RankedTensorType>($_op->getOperand(0).getType()).getRank() - 1};">,
    InterfaceMethod<[{
      Computes the results from `inputs` (a tensor an operand) into `inits` (a tensor a result, whose values may be
      overwritten), as linalg, tensor, arith, math and scf operations. Pointwise operations and row reductions
      build `linalg.generic` only.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "lowerToLinalg",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$inits)>,
    InterfaceMethod<[{
      Whether the operation is index arithmetic only (constants, broadcasts, iota), so that every kernel that reads it
      computes it again rather than loading it.
    }], "bool", "isRematerializable", (ins), "", "return false;">,
    InterfaceMethod<[{
      Whether operands of rank 1 or more must have the elements of their last axis next to each other in memory; other
      axes may have any strides.
    }], "bool", "readsContiguousRows", (ins), "", "return false;">];
}

def CS336_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::cs336";
  let description = "The operation counts its work. A multiply-add is two FLOPs.";
  let methods = [
    InterfaceMethod<"Floating-point operations.", "int64_t", "getFlops", (ins)>,
    InterfaceMethod<"Bytes read and written when the operation stands alone: all operands and results once.",
      "int64_t", "getBytes", (ins), "", "return ::cs336::detail::getOperandAndResultBytes($_op);">,
    InterfaceMethod<[{
      Whether doing it twice costs its FLOPs and bytes again and nothing else: not so for what ranks do together, nor for
      an update.
    }], "bool", "mayRecompute", (ins), "", "return true;">];
}

def CS336_ViewOpInterface : OpInterface<"ViewOpInterface"> {
  let cppNamespace = "::cs336";
  let description = "The result holds the operand's elements, elsewhere: no copy is needed where strides can say it.";
  let methods = [InterfaceMethod<[{
      The memref type (shape, strides, offset) that reads the result out of a buffer of type `source`, or failure where no
      strides can, and a copy is needed first.
    }], "::llvm::FailureOr<::mlir::MemRefType>", "getViewType", (ins "::mlir::MemRefType":$source)>];
}

#endif // CS336_DIALECT_CS336_IR_CS336INTERFACES_TD
