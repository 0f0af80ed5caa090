//===- EntryBuilder.h - A function becomes an entry -*- C++ -*-===//
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

/// What the conversion did, for the pass's statistics.
struct ConversionCounts {
  unsigned launches = 0, requiredCopies = 0, resultCopies = 0, inPlace = 0;
};

/// Converts one function, operation by operation in its order. Every tensor has a placement: storage, and the layout
/// that reads the tensor out of it.
class EntryBuilder {
public:
  /// `builder` stands where the entry is to be built.
  EntryBuilder(mlir::func::FuncOp function, KernelTable &kernels, mlir::OpBuilder &builder, ConversionCounts &counts);

  /// Builds the entry. The function is left as it was.
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

  /// Where `tensor` is; views of rematerialised values, and their kernels, are made on demand.
  Placement getPlacement(mlir::Value tensor);
  /// Whether nothing has computed `tensor` yet, and its kernel reads nothing: a constant or an iota.
  bool isUnplacedLiteral(mlir::Value tensor) const;
  void materialize(mlir::Value tensor, mlir::Value storage);
  /// The buffer that reads `tensor`.
  mlir::Value getBuffer(mlir::Value tensor);
  void place(mlir::Value tensor, mlir::Value storage);

  /// Storage for a result of `op`, which reads `operands`: where the result is needed in the end, over an operand, or
  /// new. `kernel` is null for other commands.
  mlir::Value chooseStorage(mlir::Operation *op, mlir::Value result, unsigned index, exec::KernelOp kernel,
                            llvm::ArrayRef<Placement> operands, llvm::ArrayRef<mlir::Value> taken);
  bool mayReplaceVariable(const VariableResult &variable, mlir::Operation *op, unsigned index, exec::KernelOp kernel,
                          llvm::ArrayRef<Placement> operands);
  /// Whether a launch of `kernel` may write result `index` to `storage`, parts of which it may read.
  static bool mayLaunchInto(mlir::Value storage, unsigned index, exec::KernelOp kernel,
                            llvm::ArrayRef<Placement> operands);
  /// Fills `target` with a value that the function returns and that lies in `source`, or nowhere if that is null.
  void fillResult(mlir::Value tensor, mlir::Value source, mlir::Value target, mlir::Location loc);

  mlir::func::FuncOp function;
  KernelTable &kernels;
  mlir::OpBuilder &builder;
  ConversionCounts &counts;
  LastUses lastUses;
  ResultPlan results;
  llvm::DenseMap<mlir::Value, Placement> placements;
  /// The tensor that storage holds; an allocation may be overwritten once that is dead.
  llvm::DenseMap<mlir::Value, mlir::Value> contents;
  /// Views that exist, by storage and type.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> views;
};

} // namespace cs336

#endif // CS336_LIB_CONVERSION_CS336TOEXEC_ENTRYBUILDER_H
