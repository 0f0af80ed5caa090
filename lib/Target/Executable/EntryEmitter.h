//===- EntryEmitter.h - One entry in terms of the file format -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_EXECUTABLE_ENTRYEMITTER_H
#define CS336_LIB_TARGET_EXECUTABLE_ENTRYEMITTER_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Dialect/Exec/Transforms/CommandWork.h"
#include "cs336/Target/CompiledKernels.h"
#include "cs336/Target/Executable/KernelSignatures.h"
#include "cs336/runtime/format/Executable_generated.h"
#include "llvm/ADT/DenseMap.h"

namespace cs336 {

/// Objects outside of entries to which entries refer.
struct EmittedSymbols {
  /// Indices of variables and kernels in the executable, by symbol name.
  llvm::StringMap<uint32_t> variables, kernels;
  Target target;
  /// The launches of the kernels, and their signatures; null if kernels are not compiled.
  const llvm::StringMap<CompiledKernel> *compiled;
  const KernelSignatures *signatures;

  /// Returns null if kernels are not compiled.
  const CompiledKernel *findCompiled(exec::LaunchOp launch) const {
    return compiled ? &compiled->find(launch.getKernel())->second : nullptr;
  }
};

/// Builds the description of one entry.
class EntryEmitter {
public:
  EntryEmitter(exec::EntryOp entry, const EmittedSymbols &symbols) : entry(entry), symbols(symbols), counter(entry) {}

  mlir::FailureOr<std::unique_ptr<format::EntryT>> emit();

private:
  void addInput(exec::InputOp input);
  void addOutput(exec::OutputOp output);
  /// Returns the index of an allocation. Adds its description when one of its buffers is first described.
  uint32_t getAllocation(exec::ArenaOpInterface storage);
  /// Returns the index of a buffer. Adds its description when a command first uses it.
  uint32_t getBuffer(mlir::Value buffer);
  void addCommand(exec::CommandOpInterface command);
  /// Returns the location as text. Printing takes longer than finding it again, and most locations occur several times.
  const std::string &getText(mlir::Location loc);

  /// Fails if a buffer does not have the offset or alignment that the runtime requires.
  mlir::LogicalResult verifyOffsets();
  mlir::LogicalResult verifyOffset(mlir::Operation *command, mlir::Value buffer, int64_t alignment);

  format::LaunchT describe(exec::LaunchOp launch);
  format::GemmT describe(exec::GemmOp gemm);
  format::CopyT describe(exec::CopyOp copy);
  format::CheckBoundT describe(exec::CheckBoundOp check);
  format::CollectiveT describe(exec::CollectiveOp collective);
  format::RecordT describe(exec::RecordOp record);
  format::WaitT describe(exec::WaitOp wait);

  exec::EntryOp entry;
  const EmittedSymbols &symbols;
  exec::WorkCounter counter;
  std::unique_ptr<format::EntryT> result = std::make_unique<format::EntryT>();
  llvm::DenseMap<mlir::Value, uint32_t> buffers;
  /// The positions of inputs among the entry's inputs, and of storage among its allocations.
  llvm::DenseMap<mlir::Operation *, uint32_t> inputs, allocations;
  llvm::DenseMap<uint64_t, uint32_t> streams, events;
  llvm::DenseMap<mlir::Attribute, std::string> locations;
};

} // namespace cs336

#endif // CS336_LIB_TARGET_EXECUTABLE_ENTRYEMITTER_H
