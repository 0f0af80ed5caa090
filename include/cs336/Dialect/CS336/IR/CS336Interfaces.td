//===- CS336Interfaces.td - Interfaces between operations and passes -===//
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
    An operation with an adjoint (vector-Jacobian product). Reverse-mode differentiation uses nothing else.
  }];
  let methods = [InterfaceMethod<[{
      Builds the gradients of the loss with respect to the operands. `resultGradients` has one value per result, of
      that result's type. A value is null if the loss does not depend on the result. At least one value is not null.
      Fills `operandGradients` with one value per operand, of that operand's type. A value is null if the operand has no
      gradient: an integer, or a derivative that is zero everywhere. The caller erases operations that remain unused.
    }], "::mlir::LogicalResult", "buildAdjoint",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>];
}

def CS336_DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::cs336";
  let description = "A composite: an operation with a formula in simpler operations of the dialect.";
  let methods = [InterfaceMethod<"Builds a replacement for every result, in front of the operation.",
    "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose", (ins "::mlir::OpBuilder &":$builder)>];
}

def CS336_AutocastOpInterface : OpInterface<"AutocastOpInterface"> {
  let cppNamespace = "::cs336";
  let description = [{
    An operation with a policy for mixed precision. The policy selects the element type of the computation:

    - `Low`: the low type of the pass (bf16 or f16), for GEMMs.
    - `Float32`: float32, for exponentials, sums and losses.
    - `Widest`: the widest type of the floating-point operands.
    - `Keep`: the type of the first operand. This is the default for operations without this interface.
    - `Explicit`: the type that the program names, for casts.
  }];
  let methods = [
    InterfaceMethod<"Returns the policy.", "::cs336::AutocastPolicy", "getAutocastPolicy", (ins)>,
    InterfaceMethod<"Allows a float32 GEMM to round its inputs to tf32. Other operations ignore the call.",
      "void", "allowTF32", (ins), "", "return;">,
    InterfaceMethod<"Returns whether a result keeps its type while the others get the type of the policy.",
      "bool", "keepsResultType", (ins "unsigned":$result), "", "return false;">,
    InterfaceMethod<"Returns whether an operand keeps its type while the others get the type of the policy.",
      "bool", "keepsOperandType", (ins "unsigned":$operand), "", "return false;">];
}

def CS336_ScalarOpInterface : OpInterface<"ScalarOpInterface"> {
  let cppNamespace = "::cs336";
  let description = [{
    An element-wise operation: an element of the result is computed from the same element of every operand. Kernels that
    are not linalg, such as those of attention, build their code from it.
  }];
  let methods = [InterfaceMethod<[{
      Builds arith and math operations that compute one element of the result's element type. `scalars` has one element
      per operand.
    }], "::mlir::Value", "buildScalar",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$scalars)>];
}

def CS336_FusibleOpInterface : OpInterface<"FusibleOpInterface"> {
  let cppNamespace = "::cs336";
  let description = [{
    An operation that can be part of a kernel. It has a fusion kind, and it lowers itself to linalg on tensors, which is
    the form that every target reads.
  }];
  let methods = [
    InterfaceMethod<"Returns the fusion kind: pointwise, row reduction, contraction, assembly or opaque.", "::cs336::FusionKind",
      "getFusionKind", (ins)>,
    InterfaceMethod<[{
      Returns the axes along which a row reduction combines elements, in ascending order. All operands have one shape,
      except that a mask may have its last axes only. The result lacks the reduced axes, or it has the operands' shape
      if its elements depend on whole rows.
    }], "::llvm::SmallVector<int64_t>", "getReducedAxes", (ins), "",
    "return {::llvm::cast<::mlir::RankedTensorType>($_op->getOperand(0).getType()).getRank() - 1};">,
    InterfaceMethod<[{
      Builds linalg, tensor, arith, math and scf operations that compute the results. `inputs` has one tensor per
      operand. `inits` has one tensor per result, whose values may be overwritten. Pointwise operations and row
      reductions build `linalg.generic` only.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "lowerToLinalg",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$inits)>,
    InterfaceMethod<[{
      Returns whether the operation is only index arithmetic: a constant, a broadcast or an iota. Every kernel that
      reads such an operation computes it again instead of loading its result.
    }], "bool", "isRematerializable", (ins), "", "return false;">,
    InterfaceMethod<[{
      Returns whether the last axis of operands of rank 1 or more must be contiguous in memory. Other axes may have any
      strides.
    }], "bool", "readsContiguousRows", (ins), "", "return false;">];
}

def CS336_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::cs336";
  let description = "An operation that counts its work. A multiply-add counts as two FLOPs.";
  let methods = [
    InterfaceMethod<"Returns the number of floating-point operations.", "int64_t", "getFlops", (ins)>,
    InterfaceMethod<"Returns the bytes that the unfused operation reads and writes: all operands and results once.",
      "int64_t", "getBytes", (ins), "", "return ::cs336::detail::getOperandAndResultBytes($_op);">,
    InterfaceMethod<[{
      Returns the most bytes that the operation reads of a tensor operand: those of the whole tensor, unless it reads
      only some of the elements.
    }], "int64_t", "getReadBytes", (ins "::mlir::OpOperand &":$operand), "",
      "return ::cs336::getTensorBytes(operand.get());">,
    InterfaceMethod<"Returns the bytes that each rank sends to other ranks; 0 except for collectives.", "int64_t",
      "getWireBytes", (ins), "", "return 0;">,
    InterfaceMethod<[{
      Returns whether a second execution costs FLOPs and bytes and has no other effect. This is false for collectives
      and for updates.
    }], "bool", "mayRecompute", (ins), "", "return true;">];
}

def CS336_ViewOpInterface : OpInterface<"ViewOpInterface"> {
  let cppNamespace = "::cs336";
  let description = [{
    A layout operation: the result has the operand's elements in another shape or order. No copy is needed if strides
    can express the result.
  }];
  let methods = [InterfaceMethod<[{
      Returns the memref type (shape, strides, offset) that reads the result from a buffer of type `source`. Returns
      failure if no strides can express the result. A copy is needed first then.
    }], "::llvm::FailureOr<::mlir::MemRefType>", "getViewType", (ins "::mlir::MemRefType":$source)>];
}

def CS336_IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::cs336";
  let description = [{
    An operation with operands whose integers are indices of another tensor, which the operation reads or writes. The
    operation does not check the indices. `cs336-bound-indices` proves that they are in bounds, or adds commands that
    check them at run time, and the verifier of `exec.entry` rejects a launch whose indices are not known to be in
    bounds.
  }];
  let methods = [InterfaceMethod<"Returns the operands that hold indices, each with the number of elements that it indexes.",
    "::llvm::SmallVector<::cs336::IndexUse>", "getIndexUses", (ins)>];
}

#endif // CS336_DIALECT_CS336_IR_CS336INTERFACES_TD
