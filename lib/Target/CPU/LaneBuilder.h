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

/// Builds the code of `lanes` iterations of a loop. A value that is equal in all of them is a scalar; other values are
/// vectors with one lane per iteration. With one lane, the code is scalar.
class LaneBuilder {
public:
  LaneBuilder(mlir::OpBuilder &builder, KernelMemory &memory, int64_t lanes)
      : builder(builder), memory(memory), lanes(lanes) {}

  static bool isVector(mlir::Value value) { return llvm::isa<mlir::VectorType>(value.getType()); }

  /// Returns a vector with the same value in every lane.
  mlir::Value widen(mlir::Location loc, mlir::Value value);
  /// Returns first, first + 1, …
  mlir::Value count(mlir::Location loc, mlir::Value first);
  /// Returns the value in the first lane.
  mlir::Value first(mlir::Location loc, mlir::Value vector);
  /// Applies a scalar operation in every lane if an operand differs between lanes, or once otherwise.
  void clone(mlir::Operation &op, mlir::IRMapping &mapping);
  /// Combines all lanes in the way in which `combiner` combines two values.
  mlir::Value reduce(mlir::Operation *combiner, mlir::Value vector);

  /// Loads one element per iteration, with a stride of 1 or 2, or 0 if all lanes read the same element.
  mlir::Value load(mlir::Location loc, unsigned storage, mlir::Value index, int64_t stride);
  /// Stores to consecutive elements.
  void store(mlir::Location loc, mlir::Value value, unsigned storage, mlir::Value index);

private:
  mlir::OpBuilder &builder;
  KernelMemory &memory;
  int64_t lanes;
};

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_LANEBUILDER_H
