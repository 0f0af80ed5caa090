//===- EntryBuilder.h - Builds the entry of a function ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_CONVERSION_CS336TOEXEC_ENTRYBUILDER_H
#define CS336_LIB_CONVERSION_CS336TOEXEC_ENTRYBUILDER_H

#include "KernelTable.h"
#include "LastUses.h"
#include "ResultPlan.h"
#include "cs336/Conversion/CS336ToExec/CommandLoweringInterface.h"
#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cs336 {

/// Counts of the conversion, for the pass's statistics.
struct ConversionCounts {
  unsigned launches = 0, requiredCopies = 0, resultCopies = 0, inPlace = 0;
};

/// Converts one function, operation by operation in its order. Every tensor has a placement: storage, and the layout in
/// which the storage contains the tensor.
class EntryBuilder {
public:
  /// `builder` is at the position of the new entry.
  EntryBuilder(mlir::func::FuncOp function, KernelTable &kernels, mlir::OpBuilder &builder, ConversionCounts &counts);

  /// Builds the entry. Does not change the function.
  mlir::LogicalResult build();

private:
  struct Placement {
    mlir::Value storage;
    mlir::MemRefType type;
  };

  mlir::LogicalResult declarePorts();
  mlir::LogicalResult convert(mlir::Operation *op);
  void convertView(ViewOpInterface view);
  void launch(mlir::Operation *op);
  mlir::LogicalResult convertToCommands(CommandLoweringInterface op);
  void finishResults(mlir::Operation *terminator);

  /// Returns the placement of `tensor`. Creates views of rematerialized values, and launches of their kernels, on
  /// demand.
  Placement getPlacement(mlir::Value tensor);
  /// Returns whether `tensor` has no placement yet, and its kernel reads nothing: a constant or an iota.
  bool isUnplacedLiteral(mlir::Value tensor) const;
  void materialize(mlir::Value tensor, mlir::Value storage);
  /// Returns the buffer that contains `tensor`.
  mlir::Value getBuffer(mlir::Value tensor);
  void place(mlir::Value tensor, mlir::Value storage);

  /// Returns whether a command may write a result over an operand that has its layout, by their positions.
  using WritesOver = llvm::function_ref<bool(unsigned operand, unsigned result)>;

  /// Returns storage for a result of `op`, which reads `operands`: the result's final destination, the storage of an
  /// operand, or new storage.
  mlir::Value chooseStorage(mlir::Operation *op, mlir::Value result, unsigned index, WritesOver mayWriteOver,
                            llvm::ArrayRef<Placement> operands, llvm::ArrayRef<mlir::Value> taken);
  bool mayReplaceVariable(const VariableResult &variable, mlir::Operation *op, unsigned index, WritesOver mayWriteOver,
                          llvm::ArrayRef<Placement> operands);
  /// Returns whether a command may write result `index` to `storage`, parts of which it may read.
  static bool mayStoreInto(mlir::Value storage, unsigned index, WritesOver mayWriteOver,
                           llvm::ArrayRef<Placement> operands);
  /// Fills `target` with a returned value. The value is in `source`; if `source` is null, it has no placement yet.
  void fillResult(mlir::Value tensor, mlir::Value source, mlir::Value target, mlir::Location loc);

  mlir::func::FuncOp function;
  KernelTable &kernels;
  mlir::OpBuilder &builder;
  ConversionCounts &counts;
  LastUses lastUses;
  ResultPlan results;
  llvm::DenseMap<mlir::Value, Placement> placements;
  /// The tensor in each storage. An allocation may be overwritten when its tensor is dead.
  llvm::DenseMap<mlir::Value, mlir::Value> contents;
  /// Existing views, by storage and type.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> views;
};

} // namespace cs336

#endif // CS336_LIB_CONVERSION_CS336TOEXEC_ENTRYBUILDER_H
