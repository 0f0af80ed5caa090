//===- async_copy.cuh - Shared memory by address ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// 16 bytes of consecutive elements.
struct alignas(16) Chunk {
  unsigned words[4];
};
/// 128 bytes: one word in each bank of shared memory.
struct alignas(128) BankLine {
  Chunk chunks[8];
};

// Instructions that C++ cannot express. A compilation for another device than a GPU must define functions of these
// names before it includes this text.
#ifdef __CUDACC__

/// Returns the address of the block's dynamic shared memory, a multiple of 128.
__device__ inline unsigned getSharedMemory() {
  extern __shared__ BankLine dynamicSharedMemory[];
  return static_cast<unsigned>(__cvta_generic_to_shared(dynamicSharedMemory));
}

/// Starts a copy of 4, 8 or 16 bytes to shared memory. Writes zeros and reads nothing if `isValid` is false.
template <int bytes>
__device__ inline void copyAsync(unsigned to, const void *from, bool isValid) {
  const int available = isValid ? bytes : 0;
  if constexpr (bytes == 16) // Bypasses the first-level cache.
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(available) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(to), "l"(from), "n"(bytes), "r"(available)
                 : "memory");
}
/// Makes a group of the copies that the thread has started since its last group.
__device__ inline void commitCopies() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
/// Waits for all groups of the thread except the last `pending`. Other threads' copies are visible after a barrier.
template <int pending>
__device__ inline void waitForCopies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(pending) : "memory");
}

/// Copies the line with this address to the second-level cache.
__device__ inline void fetchLine(const void *address) {
  asm volatile("prefetch.global.L2 [%0];\n" ::"l"(__cvta_generic_to_global(address)));
}

__device__ inline unsigned loadSharedWord(unsigned address) {
  unsigned value;
  asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(value) : "r"(address) : "memory");
  return value;
}
__device__ inline uint2 loadSharedPair(unsigned address) {
  uint2 pair;
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];\n" : "=r"(pair.x), "=r"(pair.y) : "r"(address) : "memory");
  return pair;
}
__device__ inline Chunk loadSharedChunk(unsigned address) {
  Chunk chunk;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(chunk.words[0]), "=r"(chunk.words[1]), "=r"(chunk.words[2]), "=r"(chunk.words[3])
               : "r"(address)
               : "memory");
  return chunk;
}
__device__ inline void storeSharedHalfWord(unsigned address, unsigned short value) {
  asm volatile("st.shared.b16 [%0], %1;\n" ::"r"(address), "h"(value) : "memory");
}
__device__ inline void storeSharedWord(unsigned address, unsigned value) {
  asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(address), "r"(value) : "memory");
}
__device__ inline void storeSharedChunk(unsigned address, const Chunk &chunk) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};\n" ::"r"(address), "r"(chunk.words[0]), "r"(chunk.words[1]),
               "r"(chunk.words[2]), "r"(chunk.words[3])
               : "memory");
}

#endif
