//===- warpgroups_on_host.h - Warpgroups of sm_90a on the host --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The PTX instructions of barrier.cuh, tensor_copy.cuh, wgmma.cuh, ordered_sums.cuh and warpgroup_gradient.cuh of
// runtime/kernels, in C++. Asynchronous ones happen as late as they may: a copy to shared memory when a thread waits
// for its barrier, a store and a matmul when its thread waits for it. Until then the destination of a copy and the
// result of a matmul hold NaN.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_PYTHON_WARPGROUPS_ON_HOST_H
#define CS336_TEST_PYTHON_WARPGROUPS_ON_HOST_H

#include "cuda_on_host.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

struct TensorMap;

/// The barriers, bulk copies and stores of a block.
class HostBarriers {
public:
  explicit HostBarriers(unsigned threads) : stores(threads) {}

  /// Those of the running block.
  static HostBarriers current;

  void init(unsigned address, int arrivals) { barriers[address] = {arrivals, arrivals, 0, 0, {}}; }
  void arrive(unsigned address, int bytes = 0) {
    Barrier &barrier = find(address);
    if (barrier.missing == 0)
      HostSharedMemory::fail("a phase of a barrier has more arrivals than it was initialised for");
    --barrier.missing;
    barrier.bytes += bytes;
    endPhase(barrier);
  }
  /// Copies `bytes` bytes when the phase is awaited.
  void copyLater(unsigned address, int bytes, std::function<void()> copy) {
    find(address).copies.push_back([this, address, bytes, copy = std::move(copy)] {
      copy();
      find(address).bytes -= bytes;
    });
  }
  void await(unsigned address, unsigned parity) {
    Barrier &barrier = find(address);
    HostBlock::current->waitUntil([&] {
      for (const std::function<void()> &copy : std::exchange(barrier.copies, {}))
        copy();
      endPhase(barrier);
      return barrier.phase % 2 != parity;
    });
  }

  /// Waits for `threads` arrivals at a barrier with a number, the caller's included, or only arrives.
  void meet(int number, int threads, bool waits) {
    Meeting &meeting = meetings.at(number);
    const unsigned own = meeting.number;
    if (++meeting.arrivals == threads) {
      meeting.arrivals = 0;
      ++meeting.number;
    }
    if (waits)
      HostBlock::current->waitUntil([&] { return meeting.number != own; });
  }

  void storeLater(std::function<void()> store) { stores[threadIdx.x].open.push_back(std::move(store)); }
  void commitStores() {
    Stores &own = stores[threadIdx.x];
    for (std::function<void()> &store : std::exchange(own.open, {}))
      own.committed.push_back(std::move(store));
  }
  void awaitStores() {
    for (const std::function<void()> &store : std::exchange(stores[threadIdx.x].committed, {}))
      store();
  }
  /// Called when all threads have ended.
  void finish() const {
    for (const Stores &own : stores)
      if (!own.open.empty() || !own.committed.empty())
        HostSharedMemory::fail("a thread has ended without waiting for its stores");
  }

private:
  struct Barrier {
    int arrivals, missing;
    long long bytes;
    unsigned phase;
    std::vector<std::function<void()>> copies;
  };
  struct Meeting {
    int arrivals = 0;
    unsigned number = 0;
  };
  struct Stores {
    std::vector<std::function<void()>> open, committed;
  };

  Barrier &find(unsigned address) {
    auto barrier = barriers.find(address);
    if (barrier == barriers.end())
      HostSharedMemory::fail("a barrier is used before it is initialised");
    return barrier->second;
  }
  static void endPhase(Barrier &barrier) {
    if (barrier.missing == 0 && barrier.bytes == 0) {
      barrier.missing = barrier.arrivals;
      ++barrier.phase;
    }
  }

  std::map<unsigned, Barrier> barriers;
  std::array<Meeting, 16> meetings;
  std::vector<Stores> stores;
};
inline HostBarriers HostBarriers::current{0};

/// The matmuls of a block's threads that have not ended.
class HostMatmuls {
public:
  explicit HostMatmuls(unsigned threads) : threads(threads) {}

  /// Those of the running block.
  static HostMatmuls current;

  /// Starts a matmul: `multiply` adds to the numbers that it gets, which start from those of `result`.
  void start(float *result, int size, std::function<void(float *)> multiply) {
    Thread &own = threads[threadIdx.x];
    Sums &sums = own.sums[result];
    if (sums.pending++ == 0) {
      sums.values.assign(result, result + size);
      std::fill(result, result + size, __builtin_nanf(""));
    }
    own.open.push_back([result, multiply = std::move(multiply)](Thread &own) {
      const auto sums = own.sums.find(result);
      multiply(sums->second.values.data());
      if (--sums->second.pending == 0) {
        std::copy(sums->second.values.begin(), sums->second.values.end(), result);
        own.sums.erase(sums);
      }
    });
  }
  void commit() {
    Thread &own = threads[threadIdx.x];
    own.groups.push_back(std::exchange(own.open, {}));
  }
  void await(size_t pending) {
    Thread &own = threads[threadIdx.x];
    for (; own.groups.size() > pending; own.groups.erase(own.groups.begin()))
      for (const auto &matmul : own.groups.front())
        matmul(own);
  }

private:
  struct Sums {
    std::vector<float> values;
    int pending = 0;
  };
  struct Thread {
    std::map<float *, Sums> sums;
    std::vector<std::function<void(Thread &)>> open;
    std::vector<std::vector<std::function<void(Thread &)>>> groups;
  };

  std::vector<Thread> threads;
};
inline HostMatmuls HostMatmuls::current{0};

// barrier.cuh
template <int threads>
void awaitThreads(int number) {
  HostBarriers::current.meet(number, threads, /*waits=*/true);
}
template <int threads>
void arriveThreads(int number) {
  HostBarriers::current.meet(number, threads, /*waits=*/false);
}
inline void initBarrier(unsigned barrier, int arrivals) { HostBarriers::current.init(barrier, arrivals); }
inline void publishBarriers() {}
inline void arrive(unsigned barrier) { HostBarriers::current.arrive(barrier); }
inline void arriveAnnouncing(unsigned barrier, int bytes) { HostBarriers::current.arrive(barrier, bytes); }
inline void awaitPhase(unsigned barrier, unsigned parity) { HostBarriers::current.await(barrier, parity); }
// Blocks run one after the other, so a cluster has one block.
template <int blocks>
int getClusterRank() {
  static_assert(blocks == 1);
  return 0;
}
template <int blocks>
void awaitCluster() {
  static_assert(blocks == 1);
  __syncthreads();
}
template <int blocks>
void arriveInCluster(unsigned barrier, int block) {
  static_assert(blocks == 1);
  if (block != 0)
    HostSharedMemory::fail("a thread arrives at a barrier of a block that does not exist");
  arrive(barrier);
}

/// The contents of a tensor map on the host. Elements have two bytes. Boxes have 64 columns, `boxRows` rows and
/// `boxSlabs` elements of the third axis, with a swizzle of 128 bytes.
struct HostTensorMap {
  uint16_t *memory;
  long long sizes[4], strides[4]; // In elements.
  long long boxRows;
  /// The number of stores to each element, unless it is null.
  unsigned char *stores;
  /// The number of loaded boxes, unless it is null.
  long long *boxes;
  long long boxSlabs = 1;

  static constexpr int boxColumns = 64, elementBytes = 2;

  static const HostTensorMap &of(const TensorMap &map) { return reinterpret_cast<const HostTensorMap &>(map); }
  unsigned getBytes() const { return static_cast<unsigned>(boxSlabs * boxRows) * boxColumns * elementBytes; }

  /// Calls `visit` with the address of each element of a box in shared memory, and its number in memory, which is
  /// negative outside of the tensor.
  template <typename Visit>
  void forEach(unsigned shared, std::array<int, 4> first, const Visit &visit) const {
    for (int row = 0; row < boxSlabs * boxRows; ++row)
      for (int column = 0; column < boxColumns; ++column) {
        const long long at[] = {first[0] + column, first[1] + row % boxRows, first[2] + row / boxRows, first[3]};
        bool exists = true;
        long long offset = 0;
        for (int axis = 0; axis < 4; ++axis) {
          exists = exists && at[axis] >= 0 && at[axis] < sizes[axis];
          offset += at[axis] * strides[axis];
        }
        visit(swizzle(shared + row * 128 + column * elementBytes), exists ? offset : -1);
      }
  }

  /// Exchanges the bits of an address that a swizzle of 128 bytes exchanges.
  static unsigned swizzle(unsigned address) { return address ^ (address >> 7 & 7) << 4; }
};

// tensor_copy.cuh
inline void prefetchMap(const TensorMap &) {}
inline void loadBox(unsigned to, const TensorMap &map, unsigned barrier, int x, int y, int z, int w) {
  const HostTensorMap &host = HostTensorMap::of(map);
  if (host.boxes)
    ++*host.boxes;
  HostSharedMemory::current.poisonBytes(to, host.getBytes());
  HostBarriers::current.copyLater(barrier, host.getBytes(), [=, &host] {
    host.forEach(to, {x, y, z, w}, [&](unsigned address, long long number) {
      const uint16_t element = number >= 0 ? host.memory[number] : 0;
      HostSharedMemory::current.store(address, element);
    });
  });
}
template <int blocks>
void loadBoxInCluster(unsigned to, const TensorMap &map, unsigned barrier, int x, int y, int z, int w) {
  static_assert(blocks == 1);
  loadBox(to, map, barrier, x, y, z, w);
}
inline void loadBytes(unsigned to, const void *from, int bytes, unsigned barrier) {
  HostSharedMemory::current.poisonBytes(to, bytes);
  HostBarriers::current.copyLater(barrier, bytes, [=] {
    for (int i = 0; i < bytes; ++i)
      HostSharedMemory::current.store(to + i, static_cast<const unsigned char *>(from)[i]);
  });
}
inline void storeBox(const TensorMap &map, unsigned from, int x, int y, int z, int w) {
  const HostTensorMap &host = HostTensorMap::of(map);
  // A GPU reports an illegal instruction.
  if (y + host.boxRows <= 0)
    HostSharedMemory::fail("a stored box lies before the tensor");
  HostBarriers::current.storeLater([=, &host] {
    host.forEach(from, {x, y, z, w}, [&](unsigned address, long long number) {
      if (number < 0)
        return;
      host.memory[number] = HostSharedMemory::current.load<uint16_t>(address);
      if (host.stores)
        ++host.stores[number];
    });
  });
}
inline void commitStores() { HostBarriers::current.commitStores(); }
inline void awaitStoresRead() { HostBarriers::current.awaitStores(); }
inline void publishSharedWrites() {}

// ordered_sums.cuh
inline void storeFloats(float *to, unsigned from, int bytes) {
  HostBarriers::current.storeLater([=] {
    for (int i = 0; i < bytes / 4; ++i)
      to[i] = HostSharedMemory::current.load<float>(from + 4 * i);
  });
}
inline void addFloats(float *to, unsigned from, int bytes) {
  HostBarriers::current.storeLater([=] {
    for (int i = 0; i < bytes / 4; ++i)
      to[i] += HostSharedMemory::current.load<float>(from + 4 * i);
  });
}
inline void awaitStores() { HostBarriers::current.awaitStores(); }
inline void awaitTurn(const unsigned *turns, unsigned turn) {
  HostBlock::current->waitUntil([=] { return *turns == turn; });
}
inline void passTurn(unsigned *turns, unsigned turn) { *turns = turn + 1; }

// wgmma.cuh
template <int count>
void lowerRegisters() {}
template <int count>
void raiseRegisters() {}
inline void beginMatmuls() {}
inline void commitMatmuls() { HostMatmuls::current.commit(); }
template <int pending>
void awaitMatmuls() {
  HostMatmuls::current.await(pending);
}
template <int size>
void pin(float (&)[size]) {}
template <int size>
void forget(float (&values)[size]) {
  std::fill(values, values + size, __builtin_nanf(""));
}
inline unsigned makeUniform(unsigned number) {
  if (HostBlock::current->exchange(number, 0) != number)
    HostSharedMemory::fail("threads of a warp make different numbers uniform");
  return number;
}
inline void storeMatrices(unsigned address, const unsigned (&matrices)[4]) {
  auto addresses = HostBlock::current->pass(address);
  unsigned lane = threadIdx.x % 32;
  for (unsigned matrix = 0; matrix < 4; ++matrix)
    HostSharedMemory::current.store(addresses.values[matrix * 8 + lane / 4] + lane % 4 * 4, matrices[matrix]);
}

// warpgroup_gradient.cuh
inline void loadSharedPair(float (&pair)[2], unsigned address) {
  for (int i = 0; i < 2; ++i)
    pair[i] = HostSharedMemory::current.load<float>(address + 4 * i);
}

/// The structure of instructions that wgmma.cuh describes. Each warp multiplies its 16 rows.
template <class ElementType>
struct HostWgmma {
  using Element = ElementType;

  template <int columns>
  struct Matmul {
    template <int isRightTransposed>
    static void run(float (&sums)[columns / 2], unsigned long long left, unsigned long long right, int adds) {
      start(sums, [=](int row, int k) { return load(left, row, k); }, getRight<isRightTransposed>(right), adds);
    }
    template <int isRightTransposed>
    static void run(float (&sums)[columns / 2], const unsigned *left, unsigned long long right, int adds) {
      const auto lanes = HostBlock::current->pass(std::array<unsigned, 4>{left[0], left[1], left[2], left[3]});
      auto getLeft = [=](int row, int k) {
        const unsigned word = lanes.values[row % 8 * 4 + k % 8 / 2][row / 8 % 2 + k / 8 * 2];
        return TensorCore<Element>::getFirst(word >> k % 2 * 16);
      };
      start(sums, getLeft, getRight<isRightTransposed>(right), adds);
    }
    static void runLeftTransposed(float (&sums)[columns / 2], unsigned long long left, unsigned long long right,
                                  int adds) {
      start(sums, [=](int row, int k) { return load(left, k, row); }, getRight<1>(right), adds);
    }

  private:
    /// Returns a function for an element of the right operand.
    template <int isTransposed>
    static auto getRight(unsigned long long right) {
      const unsigned slabDistance = (right >> 16 & 0x3fff) << 4;
      return [=](int k, int column) {
        return isTransposed ? load(right + (column / 64 * slabDistance >> 4), k, column % 64) : load(right, column, k);
      };
    }
    /// Registers are read at once, and shared memory when the matmul happens.
    template <typename Left, typename Right>
    static void start(float (&sums)[columns / 2], const Left &getLeft, const Right &getRight, int adds) {
      HostMatmuls::current.start(sums, columns / 2, [=](float *values) {
        const int lane = threadIdx.x % 32, firstRow = threadIdx.x % 128 / 32 * 16 + lane / 4;
        float left[2][16];
        for (int k = 0; k < 16; ++k)
          for (int half = 0; half < 2; ++half)
            left[half][k] = getLeft(firstRow + 8 * half, k);
        for (int i = 0; i < columns / 2; ++i) {
          float sum = adds ? values[i] : 0;
          for (int k = 0; k < 16; ++k)
            sum += left[i / 2 % 2][k] * getRight(k, 8 * (i / 4) + lane % 4 * 2 + i % 2);
          values[i] = sum;
        }
      });
    }
    /// Loads an element of the matrix of a description: of rows of 128 bytes with a swizzle of 128 bytes, or, without a
    /// swizzle, of groups of 8 rows and 8 columns.
    static float load(unsigned long long description, int row, int column) {
      auto getBytes = [=](int firstBit) { return static_cast<unsigned>(description >> firstBit & 0x3fff) << 4; };
      const unsigned address =
          description >> 62 == 1
              ? HostTensorMap::swizzle(getBytes(0) + row * 128 + column * HostTensorMap::elementBytes)
              : getBytes(0) + row / 8 * getBytes(32) + row % 8 * 16 + column / 8 * getBytes(16) +
                    column % 8 * HostTensorMap::elementBytes;
      return TensorCore<Element>::getFirst(HostSharedMemory::current.load<uint16_t>(address));
    }
  };
};

#endif // CS336_TEST_PYTHON_WARPGROUPS_ON_HOST_H
