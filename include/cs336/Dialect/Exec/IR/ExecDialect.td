//===- ExecDialect.td - The exec dialect, its enumerations and type constraints -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECDIALECT_TD
#define CS336_DIALECT_EXEC_IR_EXECDIALECT_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::cs336::exec";
  let summary = "Buffers and commands in order, as the runtime executes them";
  let description = [{
    A module contains variables, kernels and entries. A variable is storage that lives as long as a session, and the
    entries share it by name. An entry is a list of buffers and commands. The order of the commands is one in which a
    single stream could run them all. With several streams, events order the commands that depend on each other. A
    command reads its `ins` and writes its `outs`.

    ```mlir
    exec.variable @"ln.weight" parameter : memref<64xf32> {init = #cs336.init<ones>}
    exec.kernel @mul_3f2a(%x: tensor<4x64xf32>, %w: tensor<64xf32>) : (memref<4x64xf32>, memref<64xf32>) -> memref<4x64xf32> {
      %b = cs336.broadcast %w dims = [1] : tensor<64xf32> -> tensor<4x64xf32>
      %y = cs336.mul %x, %b : tensor<4x64xf32>
      exec.yield %y : tensor<4x64xf32>
    }
    exec.entry @forward mode<forward> {
      %ln.weight = exec.get @"ln.weight" : memref<64xf32>
      %x = exec.input "x" : memref<4x64xf32>
      %y = exec.output "y" output : memref<4x64xf32>
      exec.launch @mul_3f2a ins(%x, %ln.weight : memref<4x64xf32>, memref<64xf32>) outs(%y : memref<4x64xf32>)
    }
    ```

    Every buffer is a memref with static sizes, strides and offset. Storage (variables, inputs, outputs and allocations)
    is dense and row-major. `exec.view` reads it with other strides.

    Sizes and strides count elements. `arena_bytes` and the `offset` of allocations and outputs count bytes.

    The location of a command names the part of the model that it comes from: `loc("layers.0.attn.q_proj")`. Outside the
    forward pass it is wrapped as `loc("backward"(…))` or `loc("optimizer"(…))`.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
  let useDefaultAttributePrinterParser = 1;
}

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::cs336::exec";
  let genSpecializedAttr = 0;
}

def Exec_VariableKind : Exec_Enum<"VariableKind", "kind of variable", [
  I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"State", 1, "state">,
  I32EnumAttrCase<"Derived", 2, "derived">]>;
def Exec_VariableKindAttr : EnumAttr<Exec_Dialect, Exec_VariableKind, "variable_kind"> {
  let assemblyFormat = "$value";
}

def Exec_OutputKind : Exec_Enum<"OutputKind", "kind of output", [
  I32EnumAttrCase<"Output", 0, "output">, I32EnumAttrCase<"Gradient", 1, "gradient">]>;
def Exec_OutputKindAttr : EnumAttr<Exec_Dialect, Exec_OutputKind, "output_kind"> {
  let assemblyFormat = "$value";
}

def Exec_StorageKind : Exec_Enum<"StorageKind", "kind of storage that holds a buffer", [
  I32EnumAttrCase<"Arena", 0, "arena">, I32EnumAttrCase<"Variable", 1, "variable">,
  I32EnumAttrCase<"Input", 2, "input">, I32EnumAttrCase<"Output", 3, "output">]>;

def Exec_CommandPhase : Exec_Enum<"CommandPhase", "phase of a step that a command belongs to", [
  I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"Backward", 1, "backward">,
  I32EnumAttrCase<"Optimizer", 2, "optimizer">, I32EnumAttrCase<"Prepare", 3, "prepare">,
  I32EnumAttrCase<"Communication", 4, "communication">]>;

def Exec_IsBuffer : CPred<"::cs336::exec::isBuffer($_self)">;
def Exec_IsDense : CPred<"::llvm::cast<::mlir::MemRefType>($_self).getLayout().isIdentity()">;
def Exec_HasUsableSize : CPred<"::cs336::exec::hasUsableSize(::llvm::cast<::mlir::MemRefType>($_self))">;
def Exec_Buffer : Type<Exec_IsBuffer, "memref of f64, f32, bf16, f16, i64, i32 or i1 with static sizes, strides and offset, "
                                      "at most 2^56 bytes, whose last element is one of the first 2^48", "::mlir::MemRefType">;
def Exec_Storage : ConfinedType<Exec_Buffer, [Exec_IsDense, Exec_HasUsableSize],
                                "dense row-major memref of static sizes, none of them 0, and at most 2^48 bytes",
                                "::mlir::MemRefType">;

/// A workspace, in units of four bytes.
def Exec_Workspace : ConfinedType<MemRefRankOf<[F32], [1]>, [Exec_IsBuffer], "one-dimensional buffer of f32">;

#endif // CS336_DIALECT_EXEC_IR_EXECDIALECT_TD
