//===- CompiledKernels.h - What targets make of kernels ----------- -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_COMPILEDKERNELS_H
#define CS336_TARGET_COMPILEDKERNELS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cs336 {

/// The kind of device that a plan and its kernels are for.
enum class Target { CPU, CUDA };

/// A function of a code object.
///
/// CPU: `void symbol(void *const *buffers, int64_t begin, int64_t end)` computes rows [begin, end) of [0, rows).
/// buffers[i] points at element 0 of operand i, inputs before outputs; an output may be an input's buffer where
/// `exec::KernelOp::canWriteOver` holds. Behind them stands the address of `threadBytes` bytes, where there are any,
/// which calls at the same time do not share.
///
/// CUDA: a grid of `blocks` blocks of `threads` threads with `sharedBytes` of dynamic shared memory. Its parameters
/// are the operands' pointers, inputs before outputs before the launch's workspace.
struct KernelFunction {
  std::string symbol;
  int64_t blocks = 0, threads = 0, sharedBytes = 0;
};

/// How to launch a kernel.
struct CompiledKernel {
  /// Run one after the other: one on the CPU.
  llvm::SmallVector<KernelFunction, 1> functions;
  /// Which code objects hold them: one for each architecture.
  llvm::SmallVector<uint32_t, 1> objects;
  /// CPU: the rows, and the fewest that are worth a thread.
  int64_t rows = 1, grain = 1;
  /// The source, where there is any.
  std::string text;
  /// CPU: scratch memory of each thread, on a cache line.
  int64_t threadBytes = 0;
  /// CUDA: scratch memory of each launch, aligned as all storage is.
  int64_t workspaceBytes = 0;
  /// Bytes that the address of element 0 of each operand must be a multiple of. Where it is empty, the elements' own.
  llvm::SmallVector<int64_t, 0> alignments = {};
};

/// Machine code for one kind of machine.
struct CodeObject {
  /// "x86_64", "sm_90a".
  std::string target;
  /// CPU: instruction set extensions that it may use, named as in /proc/cpuinfo: "avx2", "fma", "avx512f".
  std::vector<std::string> features;
  /// An ELF shared object, which names the libraries that it needs; or a cubin.
  std::vector<uint8_t> image;
};

/// All kernels of a module.
struct CompiledKernels {
  Target target = Target::CPU;
  std::vector<CodeObject> objects;
  /// By the name of the `exec.kernel`.
  llvm::StringMap<CompiledKernel> kernels;
};

} // namespace cs336

#endif // CS336_TARGET_COMPILEDKERNELS_H
