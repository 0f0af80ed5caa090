//===- CPUTarget.h - Kernels as machine code of the CPU ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CPU_CPUTARGET_H
#define CS336_TARGET_CPU_CPUTARGET_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CompiledKernels.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

namespace cs336 {

struct CPUTargetOptions {
  /// The instruction set: "host" for the best level that this machine has, "generic" for the architecture's baseline,
  /// or "x86-64-v2", "x86-64-v3", "x86-64-v4".
  std::string cpu = "host";
};

/// Returns the value that "host" stands for on this machine: "x86-64-v4", or the name of an architecture without
/// levels.
std::string getHostInstructionSet();

/// Compiles every `exec.kernel` of the module to one ELF shared object, in parallel if the context allows it. The
/// result depends only on the kernels, on the operands that launches write over, and on the instruction set. A symbol
/// ends with its kernel's signature (runtime/format/KernelSignature.h). Fails with a diagnostic for an unknown `cpu`,
/// for an operation without a lowering, for a kernel with too many values between its operations, and if temporary
/// files cannot be written.
mlir::FailureOr<CompiledKernels> compileKernelsForCPU(mlir::ModuleOp module, const CPUTargetOptions &options,
                                                      mlir::TimingScope *timing = nullptr);

/// Builds the kernel's function at the builder's insertion point: an `llvm.func` whose body has loops of scf around
/// loads, operations and stores. These are on vectors for registers of `vectorBits` bits, and on scalars.
/// `compileKernelsForCPU` optimizes this function and generates code for it.
mlir::FailureOr<mlir::LLVM::LLVMFuncOp> lowerKernelToCPULoops(exec::KernelOp kernel, int64_t vectorBits,
                                                              mlir::OpBuilder &builder, CompiledKernel &compiled);

} // namespace cs336

#endif // CS336_TARGET_CPU_CPUTARGET_H
