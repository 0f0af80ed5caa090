//===- InstructionSet.h - What machine code may use ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_INSTRUCTIONSET_H
#define CS336_LIB_TARGET_CPU_INSTRUCTIONSET_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Target/TargetMachine.h"

namespace cs336::cpu {

/// An architecture and its extensions.
struct InstructionSet {
  llvm::Triple triple;
  /// LLVM's names of the instructions that code may use, and of the processor that it is scheduled for.
  std::string cpu, tuneFor;
  /// Names of the extensions as in /proc/cpuinfo.
  std::vector<std::string> features;
  /// The width of a vector register.
  int64_t vectorBits = 128;

  bool has(llvm::StringRef feature) const { return llvm::is_contained(features, feature); }
};

/// Finds the instruction set that `CPUTargetOptions::cpu` names. Fails with a diagnostic that lists the choices if the
/// name is unknown or belongs to another architecture than this machine's.
mlir::FailureOr<InstructionSet> findInstructionSet(llvm::StringRef name, mlir::Location loc);

/// Returns the code generator for the instruction set, or null with a message in `error`.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const InstructionSet &isa, std::string &error);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_INSTRUCTIONSET_H
