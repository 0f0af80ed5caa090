//===- LaneBuilder.h - Scalar code for several iterations at once ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_LANEBUILDER_H
#define CS336_LIB_TARGET_CPU_LANEBUILDER_H

#include "KernelMemory.h"
#include "mlir/IR/IRMapping.h"

namespace cs336::cpu {

/// Builds what `lanes` iterations of a loop do. A value that is the same in all of them is a scalar, any other a vector
/// with one lane an iteration. One lane is scalar code.
class LaneBuilder {
public:
  LaneBuilder(mlir::OpBuilder &builder, KernelMemory &memory, int64_t lanes)
      : builder(builder), memory(memory), lanes(lanes) {}

  static bool isVector(mlir::Value value) { return llvm::isa<mlir::VectorType>(value.getType()); }

  /// The same value in every lane.
  mlir::Value widen(mlir::Location loc, mlir::Value value);
  /// first, first + 1, …
  mlir::Value count(mlir::Location loc, mlir::Value first);
  /// The value in the first lane.
  mlir::Value first(mlir::Location loc, mlir::Value vector);
  /// Does a scalar operation in every lane where an operand differs among them.
  void clone(mlir::Operation &op, mlir::IRMapping &mapping);
  /// Combines the lanes, as `combiner` combines two values.
  mlir::Value reduce(mlir::Operation *combiner, mlir::Value vector);

  /// Elements of one iteration each, `stride` apart (0: all lanes have the same; 1 or 2).
  mlir::Value load(mlir::Location loc, unsigned storage, mlir::Value index, int64_t stride);
  /// Stores to neighbouring elements.
  void store(mlir::Location loc, mlir::Value value, unsigned storage, mlir::Value index);

private:
  mlir::OpBuilder &builder;
  KernelMemory &memory;
  int64_t lanes;
};

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_LANEBUILDER_H
