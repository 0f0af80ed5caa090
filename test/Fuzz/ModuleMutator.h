//===- ModuleMutator.h - Changes of modules in memory -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_MODULEMUTATOR_H
#define CS336_TEST_FUZZ_MODULEMUTATOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <random>

namespace cs336::fuzz {

/// Changes attributes, types, operands and the order of operations of any dialect. The generic printer can print the
/// result; verifiers decide whether it is valid.
class ModuleMutator {
public:
  explicit ModuleMutator(unsigned seed) : random(seed) {}

  /// Makes one change, or none if the choice does not apply.
  void mutate(mlir::ModuleOp module);

private:
  size_t below(size_t bound) { return random() % bound; }
  template <typename Range>
  auto pick(const Range &range) {
    return range[below(range.size())];
  }

  int64_t mutateNumber(int64_t number);
  double mutateReal(double number);
  void mutateList(llvm::SmallVectorImpl<int64_t> &numbers);
  mlir::Attribute mutateAttribute(mlir::Attribute attribute);
  /// Returns null if the choice makes no type.
  mlir::Type mutateType(mlir::Type type);
  mlir::Type mutateElementType(mlir::Type type);

  void mutateAttributes(mlir::Operation *op);
  void copyAttribute(mlir::Operation *op);
  void mutateOperand(mlir::Operation *op);
  void mutateValueType(mlir::Operation *op);
  /// Changes every occurrence of a type, so that operations still fit together.
  void replaceType(mlir::Operation *op);
  void mutateOrder(mlir::Operation *op);

  llvm::SmallVector<mlir::Operation *> operations;
  mlir::ModuleOp root;
  std::minstd_rand random;
};

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_MODULEMUTATOR_H
