//===- CS336OpBase.td - Definitions that all operations share -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336OPBASE_TD
#define CS336_DIALECT_CS336_IR_CS336OPBASE_TD

include "cs336/Dialect/CS336/IR/CS336Attributes.td"
include "cs336/Dialect/CS336/IR/CS336Interfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// The interfaces. Each operation defines the methods that are named here.
def Differentiable : DeclareOpInterfaceMethods<CS336_DifferentiableOpInterface>;
def Decomposable : DeclareOpInterfaceMethods<CS336_DecomposableOpInterface>;
def Fusible : DeclareOpInterfaceMethods<CS336_FusibleOpInterface>;
def FusibleReduction : DeclareOpInterfaceMethods<CS336_FusibleOpInterface, ["getReducedAxes"]>;
def Rematerializable : DeclareOpInterfaceMethods<CS336_FusibleOpInterface, ["isRematerializable"]>;
def Cost : DeclareOpInterfaceMethods<CS336_CostOpInterface>;
def Indexing : DeclareOpInterfaceMethods<CS336_IndexingOpInterface>;
def View : DeclareOpInterfaceMethods<CS336_ViewOpInterface>;

class CS336_Op<string mnemonic, list<Trait> traits = []> : Op<CS336_Dialect, mnemonic, traits # [Pure]>;

#endif // CS336_DIALECT_CS336_IR_CS336OPBASE_TD
