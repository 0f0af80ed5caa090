//===- ExecOpBase.td - Definitions that all operations share -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECOPBASE_TD
#define CS336_DIALECT_EXEC_IR_EXECOPBASE_TD

include "cs336/Dialect/CS336/IR/CS336Attributes.td"
include "cs336/Dialect/Exec/IR/ExecDialect.td"
include "cs336/Dialect/Exec/IR/ExecInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

def Exec_NonNegative : ConfinedAttr<I64Attr, [IntNonNegative]>;

// At most 2^62, so that sizes can be added without overflow.
def Exec_Bytes : ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<0x4000000000000000>]>;

// At most the size of a huge page, as in the executable's format.
def Exec_Alignment : ConfinedAttr<I64Attr, [IntPositivePowerOf2, IntMaxValue<0x200000>]>;

#endif // CS336_DIALECT_EXEC_IR_EXECOPBASE_TD
