//===- tensor_copy.cuh - Copies by the tensor memory accelerator -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// For compute capability 9.0 and later.

/// A tensor in global memory as the driver has encoded it: address, sizes, strides, the box that one copy moves, and
/// the order of its chunks in shared memory.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

#ifdef __CUDACC__

/// Loads the map to the cache of the copy engine.
__device__ inline void prefetchMap(const TensorMap &map) {
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(&map) : "memory");
}
/// Copies the box at these coordinates to shared memory; elements outside of the tensor become zeros. The copy reports
/// all bytes of the box to `barrier`.
__device__ inline void loadBox(unsigned to, const TensorMap &map, unsigned barrier, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4, %5, %6}], [%2];\n" ::"r"(to),
               "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}
/// As loadBox, in every block of the cluster of `blocks` blocks: the box goes to the same address, and is reported to
/// the barrier at the same address.
template <int blocks>
__device__ inline void loadBoxInCluster(unsigned to, const TensorMap &map, unsigned barrier, int x, int y, int z,
                                        int w) {
  if constexpr (blocks > 1)
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;\n" ::"r"(to),
                 "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w), "h"(static_cast<short>((1 << blocks) - 1))
                 : "memory");
  else
    loadBox(to, map, barrier, x, y, z, w);
}
/// Copies `bytes` bytes to shared memory, a multiple of 16, and reports them to `barrier`.
__device__ inline void loadBytes(unsigned to, const void *from, int bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
               : "memory");
}

/// Starts to copy shared memory to the box at these coordinates. Elements outside of the tensor are not copied.
__device__ inline void storeBox(const TensorMap &map, unsigned from, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];\n" ::"l"(&map),
               "r"(from), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}
__device__ inline void commitStores() { asm volatile("cp.async.bulk.commit_group;\n" ::: "memory"); }
/// Waits until all stores of this thread have read shared memory.
__device__ inline void awaitStoresRead() { asm volatile("cp.async.bulk.wait_group.read 0;\n" ::: "memory"); }
/// Makes this thread's writes to shared memory visible to copies and to tensor cores that read shared memory.
__device__ inline void publishSharedWrites() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }

#endif
