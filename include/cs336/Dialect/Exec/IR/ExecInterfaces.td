//===- ExecInterfaces.td - Interfaces for planning and emission -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECINTERFACES_TD
#define CS336_DIALECT_EXEC_IR_EXECINTERFACES_TD

include "mlir/IR/OpBase.td"

def Exec_CommandOpInterface : OpInterface<"CommandOpInterface"> {
  let cppNamespace = "::cs336::exec";
  let description = [{
    A command: an operation that the runtime executes. Commands of one stream run in order. A command reads and writes
    buffers (views or storage).
  }];
  let methods = [
    InterfaceMethod<"Returns the buffers that the command reads.", "::llvm::SmallVector<::mlir::Value>", "getReads",
      (ins), "", "return {};">,
    InterfaceMethod<"Returns the buffers that the command writes.", "::llvm::SmallVector<::mlir::Value>", "getWrites",
      (ins), "", "return {};">,
    InterfaceMethod<"Returns the stream that runs the command.", "uint64_t", "getStream", (ins)>,
    InterfaceMethod<"Returns the event that completes when all earlier work of the stream has completed.",
      "std::optional<uint64_t>", "getRecordedEvent", (ins), "", "return std::nullopt;">,
    InterfaceMethod<"Returns the event that the later work of the stream waits for.", "std::optional<uint64_t>",
      "getAwaitedEvent", (ins), "", "return std::nullopt;">,
    InterfaceMethod<[{
      Returns a name for profiles, with the command and the operation of the model that it comes from ("gemm_q_proj"). A
      launch has the name of its kernel.
    }], "std::string", "getCommandName", (ins), "", "return ::cs336::exec::detail::getDefaultCommandName($_op);">,
    InterfaceMethod<"Returns the phase of the step, from the entry's mode and the location.",
      "::cs336::exec::CommandPhase", "getPhase", (ins), "", "return ::cs336::exec::detail::getCommandPhase($_op);">];
}

def Exec_BufferOpInterface : OpInterface<"BufferOpInterface"> {
  let cppNamespace = "::cs336::exec";
  let description = "An operation whose result is a buffer: storage, or a view of storage.";
  let methods = [
    InterfaceMethod<"Returns the buffer.", "::mlir::TypedValue<::mlir::MemRefType>", "getBuffer", (ins), "",
      "return $_op.getResult();">,
    InterfaceMethod<"Returns the buffer that this one is a view of, or null for storage.", "::mlir::Value",
      "getViewSource", (ins), "", "return {};">,
    InterfaceMethod<"Returns the kind of storage that holds the bytes.", "::cs336::exec::StorageKind", "getStorageKind",
      (ins)>];
}

def Exec_ArenaOpInterface : OpInterface<"ArenaOpInterface", [Exec_BufferOpInterface]> {
  let cppNamespace = "::cs336::exec";
  let description = "Storage in the entry's arena, at an offset that the memory plan assigns.";
  let methods = [
    InterfaceMethod<"Returns the offset in bytes from the start of the arena, or nullopt before planning.",
      "std::optional<uint64_t>", "getOffset", (ins), "return $_op.getOffset();">,
    InterfaceMethod<"Sets the offset.", "void", "setOffset", (ins "std::optional<uint64_t>":$offset),
      "$_op.setOffset(offset);">,
    InterfaceMethod<"Returns whether the storage is read after the last command of the entry.", "bool",
      "outlivesCommands", (ins), "", "return false;">];
}

#endif // CS336_DIALECT_EXEC_IR_EXECINTERFACES_TD
