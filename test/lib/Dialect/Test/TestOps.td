//===- TestOps.td - Operations that only tests have -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_LIB_DIALECT_TEST_TESTOPS_TD
#define CS336_TEST_LIB_DIALECT_TEST_TESTOPS_TD

include "cs336/Dialect/CS336/IR/CS336OpBase.td"

def CS336Test_Dialect : Dialect {
  let name = "cs336_test";
  let cppNamespace = "::cs336::test";
  let summary = "Operations that passes handle by their interfaces alone";
}

class CS336Test_Op<string mnemonic, list<Trait> traits> : Op<CS336Test_Dialect, mnemonic,
    traits # [Pure, SameOperandsAndResultType, Cost, CS336_AutocastOpInterface]> {
  let arguments = (ins CS336_FloatTensor:$operand);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def CS336Test_CubeOp : CS336Test_Op<"cube", [Elementwise, Differentiable, Fusible]> {
  let summary = "x³, in float32 under autocast";
  let extraClassDeclaration = [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Float32; }
  }];
}

def CS336Test_QuarticOp : CS336Test_Op<"quartic", [Decomposable]> {
  let summary = "x⁴, as x³ · x";
  let extraClassDeclaration = [{
    ::cs336::AutocastPolicy getAutocastPolicy() { return ::cs336::AutocastPolicy::Keep; }
  }];
}

def CS336Test_OpaqueOp : Op<CS336Test_Dialect, "opaque", [Pure, SameOperandsAndResultType]> {
  let summary = "Implements nothing, which passes must bear or say";
  let arguments = (ins CS336_FloatTensor:$operand);
  let results = (outs CS336_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

#endif // CS336_TEST_LIB_DIALECT_TEST_TESTOPS_TD
