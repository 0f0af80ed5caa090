//===- NativeObject.h - The LLVM dialect to a linked object ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_NATIVEOBJECT_H
#define CS336_LIB_TARGET_CPU_NATIVEOBJECT_H

#include "InstructionSet.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

namespace cs336::cpu {

/// A relocatable ELF file.
using ObjectFile = llvm::SmallVector<char, 0>;

/// Optimizes a module in the LLVM dialect and generates its code. Several threads may do so for modules of one context.
mlir::FailureOr<ObjectFile> compileToObject(mlir::ModuleOp module, const InstructionSet &isa,
                                            mlir::TimingScope &timing);

/// Links objects to one shared object that names libm as needed.
///
/// LLD runs inside this process, one link at a time, so that users do not have to install a linker. It reads and writes
/// files in a temporary folder.
mlir::FailureOr<std::vector<uint8_t>> linkSharedObject(llvm::ArrayRef<ObjectFile> objects, const InstructionSet &isa,
                                                       mlir::Location loc);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_NATIVEOBJECT_H
