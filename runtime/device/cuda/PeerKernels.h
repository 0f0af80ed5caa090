//===- PeerKernels.h - Kernels that access other GPUs' memory ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_PEERKERNELS_H
#define CS336_RUNTIME_DEVICE_CUDA_PEERKERNELS_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/DType.h"

#include <cstdint>
#include <string>

namespace cs336::runtime {

/// Returns the text of the kernel "synchronise", in PTX. A block with a thread per rank tells all ranks that this one
/// has come, and waits until all have. If the host ends the wait, the first word of this rank's block is set to 1.
/// Parameters:
///   blocks     address of an array with the address of each rank's block of signals
///   rank, ranks
///   offset     of the barrier in each block: ranks + 1 words of 64 bits, 0 at first. The last word counts the calls.
///   abandoned  address of a word that ends the wait if it is not 0
std::string SynchroniseText();

/// Returns the name of the kernel of ReduceText(): "reduce_peers_mean_bf16".
std::string ReduceName(DType dtype, Reduction reduction);
/// Returns the text of a kernel in PTX for compute capability 8.0 and newer. It combines the values of all
/// ranks, in order of ranks and in float32, and stores the result. `dtype` is f32, bf16 or f16. It accesses vectors of
/// 16 bytes, except for the last bytes of an operand.
/// Parameters:
///   operands   address of one record per operand, of words of 64 bits: its number of bytes, the address of each
///              rank's values, and the addresses at which the result is stored. The addresses are multiples of 16
///   count      number of operands
///   ranks, targets  numbers of addresses in a record
///   abandoned  address of a word that ends the kernel at its start if it is not 0
/// A grid has any number of blocks, of kReduceThreads threads and ReduceSharedBytes() bytes of dynamic shared memory.
std::string ReduceText(DType dtype, Reduction reduction, int ranks);
constexpr unsigned kReduceThreads = 512;
int64_t ReduceSharedBytes(int ranks);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_PEERKERNELS_H
