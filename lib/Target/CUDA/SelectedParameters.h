//===- SelectedParameters.h - Parameters that a person selects --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_SELECTEDPARAMETERS_H
#define CS336_LIB_TARGET_CUDA_SELECTEDPARAMETERS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace cs336::cuda {

/// The parameters of a function that a person has selected, some or all of them: a dictionary of integers, booleans and
/// dictionaries. The caller reads each parameter that the function has, and then calls `finish`.
class SelectedParameters {
public:
  /// `name` is that of the parameters in the schedule, such as "forward"; empty for the schedule itself. `selected` is
  /// null if nothing is selected.
  SelectedParameters(llvm::StringRef name, mlir::Attribute selected) : name(name), selected(selected) {}

  // Reads a parameter. A value stays as it is if the parameter is not selected.
  void read(llvm::StringRef parameter, int64_t &value);
  void read(llvm::StringRef parameter, bool &value);
  /// Returns null if the parameter is not selected.
  mlir::Attribute get(llvm::StringRef parameter);

  /// Fails if a parameter has another name or type than those that were read. `whyNot` then completes the sentence
  /// "it …".
  mlir::LogicalResult finish(std::string &whyNot) const;
  /// Fails with a reason, to which this adds what was selected.
  mlir::LogicalResult fail(const llvm::Twine &reason, std::string &whyNot) const;

private:
  std::string name;
  mlir::Attribute selected;
  llvm::SmallVector<llvm::StringRef> names;
  /// The reason for which a parameter could not be read.
  std::string fault;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_SELECTEDPARAMETERS_H
