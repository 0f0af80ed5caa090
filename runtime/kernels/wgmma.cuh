//===- wgmma.cuh - Matmuls of warpgroups on tensor cores --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// For compute capability 9.0 alone (sm_90a). A warpgroup is four warps, the first of which has a number that four
// divides. Its matmuls have 64 rows. They run asynchronously, in groups, and read right operands from shared memory.
//
// With g = lane / 4 and t = lane % 4, value i of a result is in row 16 · warp + g + 8 · (i / 2 % 2) and column
// 8 · (i / 4) + 2t + i % 2. Values 8s, …, 8s + 7, rounded and packed in pairs, are the left operand of step s of a
// matmul along these columns.

// The instruction names each register of the result, so templates cannot write it for every number of columns. The text
// that uses these files has a structure for its instructions, `Wgmma` below: Wgmma::Element is the type of elements,
// and Wgmma::Matmul<columns> has two functions `run<isRightTransposed>(sums, left, right, adds)`, where left is the
// description of a matrix in shared memory, or four registers of a left operand. They start sums + left · right, or
// left · right if `adds` is 0, over 16 elements of the reduction axis. The rows of `right` in memory are along the
// result's columns, or along the reduction axis if `isRightTransposed`. Where needed, `runLeftTransposed` does the same
// with two matrices in shared memory whose rows are both along the reduction axis.

#ifdef __CUDACC__

/// Gives registers back, or waits for them: `count` per thread of the warpgroup.
template <int count>
__device__ inline void lowerRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(count));
}
template <int count>
__device__ inline void raiseRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(count));
}

/// Precedes matmuls whose registers other instructions have accessed.
__device__ inline void beginMatmuls() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }
__device__ inline void commitMatmuls() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
/// Waits until all but the last `pending` groups have ended.
template <int pending>
__device__ inline void awaitMatmuls() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(pending) : "memory");
}
/// Keeps accesses to the registers of a result after the wait that precedes this call.
template <int size>
__device__ inline void pin(float (&values)[size]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    asm volatile("" : "+f"(values[i])::"memory");
}

/// Tells the compiler that a matmul will overwrite these values, so that it can use their registers until then.
template <int size>
__device__ inline void forget(float (&values)[size]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    asm volatile("" : "=f"(values[i]));
}

/// Returns `number`, which all threads of the warp have. The compiler then computes with the result once per warp
/// instead of once per thread.
__device__ inline unsigned makeUniform(unsigned number) { return __reduce_or_sync(0xffffffffu, number); }

/// Writes four matrices of 8 x 8 half words. Lane l passes the address of row l % 8 of matrix l / 8.
__device__ inline void storeMatrices(unsigned address, const unsigned (&matrices)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(address), "r"(matrices[0]),
               "r"(matrices[1]), "r"(matrices[2]), "r"(matrices[3])
               : "memory");
}

#endif
