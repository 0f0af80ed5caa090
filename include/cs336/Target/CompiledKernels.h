//===- CompiledKernels.h - What targets make of kernels ----------- -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_COMPILEDKERNELS_H
#define CS336_TARGET_COMPILEDKERNELS_H

#include "cs336/Target/TensorMapRecipe.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace cs336 {

/// The kind of device that a plan and its kernels are for.
enum class Target { CPU, CUDA };

/// A function of a code object.
///
/// CPU: `void symbol(void *const *buffers, int64_t begin, int64_t end)` computes rows [begin, end) of [0, rows).
/// buffers[i] points to element 0 of operand i, inputs before outputs; an output may be an input's buffer if
/// `exec::KernelOp::canWriteOver` holds. They are followed by the address of `threadBytes` bytes, if not 0, which
/// concurrent calls do not share.
///
/// CUDA: a grid of `blocks` blocks of `threads` threads with `sharedBytes` of dynamic shared memory. Its parameters are
/// the pointers of inputs, of outputs, then of the workspace if its implementation uses one, and then the tensor maps
/// by value, in order: `const __grid_constant__ TensorMap`, 128 bytes at a multiple of 64 bytes. One structure may hold
/// all pointers, and another one all tensor maps.
struct KernelFunction {
  std::string symbol;
  int64_t blocks = 0, threads = 0, sharedBytes = 0;
  /// CUDA: consecutive blocks that run at the same time on neighbouring multiprocessors; 1 to 8, a divisor of `blocks`.
  int64_t cluster = 1;
  llvm::SmallVector<TensorMapRecipe, 0> tensorMaps = {};

  friend bool operator==(const KernelFunction &, const KernelFunction &) = default;
};

/// One text of a kernel, and the code that was compiled from it.
struct KernelImplementation {
  /// The functions, in the order of execution. There is one on the CPU.
  llvm::SmallVector<KernelFunction, 1> functions;
  /// The code objects that contain them: one per architecture.
  llvm::SmallVector<uint32_t, 1> objects;
  /// The source text, or "".
  std::string text = {};
  /// CUDA: workspace per launch in bytes, aligned like all storage; 0 for none.
  int64_t workspaceBytes = 0;
};

/// The facts about a kernel's code that launches need.
struct CompiledKernel {
  /// CPU: one. CUDA: one per text; architectures that share a text share its implementation.
  llvm::SmallVector<KernelImplementation, 1> implementations;
  /// CPU: the number of rows, and the smallest number of rows for which a thread is used.
  int64_t rows = 1, grain = 1;
  /// CPU: workspace per thread in bytes, aligned to a cache line.
  int64_t threadBytes = 0;
  /// Alignment in bytes of the address of element 0 of each operand. If empty, operands have the alignment of their
  /// elements.
  llvm::SmallVector<int64_t, 0> alignments = {};

  /// Returns the bytes of a launch's workspace, which is large enough for every implementation; 0 for none.
  int64_t getWorkspaceBytes() const {
    int64_t bytes = 0;
    for (const KernelImplementation &implementation : implementations)
      bytes = std::max(bytes, implementation.workspaceBytes);
    return bytes;
  }
};

/// Machine code for one kind of machine.
struct CodeObject {
  /// "x86_64", "sm_90a".
  std::string target;
  /// CPU: instruction set extensions that the code may use, named as in /proc/cpuinfo: "avx2", "fma", "avx512f".
  std::vector<std::string> features;
  /// An ELF shared object, which names the libraries that it requires, or a cubin.
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
