//===- ExecInterfaces.td - What planning and emission ask of an operation -===//
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
    An operation that something executes: it reads and writes buffers, in the order of its stream. Reads and writes name buffers
    (views or storage) as the operation sees them.
  }];
  let methods = [
    InterfaceMethod<"Buffers that the command reads.", "::llvm::SmallVector<::mlir::Value>", "getReads", (ins), "", "return {};">,
    InterfaceMethod<"Buffers that the command writes.", "::llvm::SmallVector<::mlir::Value>", "getWrites", (ins), "", "return {};">,
    InterfaceMethod<"The stream that runs the command.", "uint64_t", "getStream", (ins)>,
    InterfaceMethod<"The event that completes when all earlier work of the stream has.", "std::optional<uint64_t>",
      "getRecordedEvent", (ins), "", "return std::nullopt;">,
    InterfaceMethod<"The event that the stream's later work waits for.", "std::optional<uint64_t>",
      "getAwaitedEvent", (ins), "", "return std::nullopt;">,
    InterfaceMethod<[{
      A name for profiles: what runs, and for which operation of the model ("gemm_q_proj"; a launch has its kernel's name).
    }], "std::string", "getCommandName", (ins), "", "return ::cs336::exec::detail::getDefaultCommandName($_op);">,
    InterfaceMethod<"The part of the step, from the entry's mode and the location.", "::cs336::exec::CommandPhase", "getPhase", (ins), "",
      "return ::cs336::exec::detail::getCommandPhase($_op);">,
    InterfaceMethod<"The path of the layer that the location names (\"layers.0.attn\"), or nothing.", "::llvm::StringRef", "getLayer",
      (ins), "", "return ::cs336::exec::getLayerPath($_op->getLoc());">];
}

def Exec_BufferOpInterface : OpInterface<"BufferOpInterface"> {
  let cppNamespace = "::cs336::exec";
  let description = "An operation that names a buffer: storage, or a view of it.";
  let methods = [
    InterfaceMethod<"The buffer.", "::mlir::TypedValue<::mlir::MemRefType>", "getBuffer", (ins), "", "return $_op.getResult();">,
    InterfaceMethod<"The buffer that this one is a view of, or null for storage.", "::mlir::Value", "getViewSource", (ins), "",
      "return {};">,
    InterfaceMethod<"Where the bytes are.", "::cs336::exec::StorageKind", "getStorageKind", (ins)>];
}

def Exec_ArenaOpInterface : OpInterface<"ArenaOpInterface", [Exec_BufferOpInterface]> {
  let cppNamespace = "::cs336::exec";
  let description = "Storage to which the memory plan gives a place in the entry's arena.";
  let methods = [
    InterfaceMethod<"The place, in bytes from the arena's start, once it is planned.", "std::optional<uint64_t>", "getOffset", (ins),
      "return $_op.getOffset();">,
    InterfaceMethod<"Sets the place.", "void", "setOffset", (ins "std::optional<uint64_t>":$offset),
      "$_op.setOffset(offset);">,
    InterfaceMethod<"Whether somebody reads the storage after the entry's last command.", "bool", "outlivesCommands", (ins), "",
      "return false;">];
}

#endif // CS336_DIALECT_EXEC_IR_EXECINTERFACES_TD
