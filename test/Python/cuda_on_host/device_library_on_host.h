//===- device_library_on_host.h - GPU instructions on the host --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The PTX instructions of async_copy.cuh and mma*.cuh of runtime/kernels, in C++. Lanes hold the elements that the PTX
// manual defines. A copy happens when it is waited for; until then its destination holds NaN, so that reads that come
// too early, and copies over values that are still read, show.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_PYTHON_DEVICE_LIBRARY_ON_HOST_H
#define CS336_TEST_PYTHON_DEVICE_LIBRARY_ON_HOST_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_on_host.h"

#include <cstdint>

struct Chunk;

/// A block's dynamic shared memory, and its pending copies.
class HostSharedMemory {
public:
  HostSharedMemory(size_t bytes, unsigned threads) : memory(bytes, poison), threads(threads) {}

  /// The shared memory of the running block.
  static HostSharedMemory current;

  template <typename T>
  T load(unsigned address) {
    T value;
    std::memcpy(&value, find(address, sizeof(T)), sizeof(T));
    return value;
  }
  template <typename T>
  void store(unsigned address, const T &value) {
    std::memcpy(find(address, sizeof(T)), &value, sizeof(T));
  }

  void startCopy(unsigned to, const void *from, unsigned bytes, bool exists) {
    std::memset(find(to, bytes), poison, bytes);
    if (exists && reinterpret_cast<uintptr_t>(from) % bytes != 0)
      fail("a copy reads from an address that is not a multiple of its size");
    threads[threadIdx.x].open.push_back({to, bytes, exists ? from : nullptr});
  }
  void commitCopies() {
    Thread &thread = threads[threadIdx.x];
    thread.groups.push_back(std::move(thread.open));
    thread.open.clear();
  }
  void waitForCopies(size_t pending) {
    std::vector<std::vector<Copy>> &groups = threads[threadIdx.x].groups;
    for (; groups.size() > pending; groups.erase(groups.begin()))
      for (const Copy &copy : groups.front())
        if (copy.from)
          std::memcpy(find(copy.to, copy.bytes), copy.from, copy.bytes);
        else
          std::memset(find(copy.to, copy.bytes), 0, copy.bytes);
  }

  /// Makes the destination of a copy hold NaN.
  void poisonBytes(unsigned address, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
      *find(address + i, 1) = poison;
  }

  [[noreturn]] static void fail(const char *what) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }

private:
  static constexpr unsigned char poison = 0xFF;

  struct Copy {
    unsigned to, bytes;
    const void *from;
  };
  struct Thread {
    std::vector<Copy> open;
    std::vector<std::vector<Copy>> groups;
  };

  unsigned char *find(unsigned address, size_t bytes) {
    if (address % bytes != 0 || address + bytes > memory.size())
      fail("an access to shared memory is out of bounds or not aligned");
    return memory.data() + address;
  }

  std::vector<unsigned char> memory;
  std::vector<Thread> threads;
};
inline HostSharedMemory HostSharedMemory::current{0, 0};

inline unsigned getSharedMemory() { return 0; }
template <int bytes>
void copyAsync(unsigned to, const void *from, bool exists) {
  HostSharedMemory::current.startCopy(to, from, bytes, exists);
}
inline void commitCopies() { HostSharedMemory::current.commitCopies(); }
template <int pending>
void waitForCopies() {
  HostSharedMemory::current.waitForCopies(pending);
}
inline void fetchLine(const void *) {}
inline unsigned loadSharedWord(unsigned address) { return HostSharedMemory::current.load<unsigned>(address); }
inline uint2 loadSharedPair(unsigned address) { return HostSharedMemory::current.load<uint2>(address); }
// A template, because the text defines Chunk after this.
template <typename T = Chunk>
T loadSharedChunk(unsigned address) {
  return HostSharedMemory::current.load<T>(address);
}
inline void storeSharedHalfWord(unsigned address, unsigned short value) {
  HostSharedMemory::current.store(address, value);
}
inline void storeSharedWord(unsigned address, unsigned value) { HostSharedMemory::current.store(address, value); }
template <typename T = Chunk>
void storeSharedChunk(unsigned address, const T &chunk) {
  HostSharedMemory::current.store(address, chunk);
}

inline float exp2Approximate(float x) { return std::exp2(x); }

inline void loadMatrices(unsigned (&matrices)[4], unsigned address) {
  auto addresses = HostBlock::current->pass(address);
  unsigned lane = threadIdx.x % 32;
  for (unsigned matrix = 0; matrix < 4; ++matrix)
    matrices[matrix] = HostSharedMemory::current.load<unsigned>(addresses.values[matrix * 8 + lane / 4] + lane % 4 * 4);
}
inline void loadMatricesTransposed(unsigned (&matrices)[4], unsigned address) {
  auto addresses = HostBlock::current->pass(address);
  unsigned lane = threadIdx.x % 32;
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    auto load = [&](unsigned row) {
      return HostSharedMemory::current.load<uint16_t>(addresses.values[matrix * 8 + row] + lane / 4 * 2);
    };
    matrices[matrix] = load(lane % 4 * 2) | static_cast<unsigned>(load(lane % 4 * 2 + 1)) << 16;
  }
}

template <class Element>
struct TensorCore;

/// The values that the lanes pass to an instruction.
struct HostFragments {
  unsigned left[4], right[2];
};

/// The instruction for elements that `Convert` converts between 16 bits and float.
template <class Convert>
struct HostTensorCore {
  static void multiply(float &sum0, float &sum1, float &sum2, float &sum3, const unsigned (&left)[4], unsigned right0,
                       unsigned right1) {
    auto lanes = HostBlock::current->pass(HostFragments{{left[0], left[1], left[2], left[3]}, {right0, right1}});
    unsigned row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    auto dot = [&](unsigned half, unsigned column) {
      float sum = 0;
      for (unsigned k = 0; k < 16; ++k) {
        // Eight columns of the left operand, or rows of the right, are in the registers of four lanes.
        unsigned lane = k % 8 / 2, shift = k % 2 * 16;
        sum += Convert::widen(lanes.values[row * 4 + lane].left[half + k / 8 * 2] >> shift) *
               Convert::widen(lanes.values[column * 4 + lane].right[k / 8] >> shift);
      }
      return sum;
    };
    sum0 += dot(0, column);
    sum1 += dot(0, column + 1);
    sum2 += dot(1, column);
    sum3 += dot(1, column + 1);
  }
  static unsigned round(unsigned pair) { return pair; }
  static unsigned pack(float first, float second) {
    return Convert::narrow(first) | static_cast<unsigned>(Convert::narrow(second)) << 16;
  }
  static float getFirst(unsigned pair) { return Convert::widen(pair); }
  static float getSecond(unsigned pair) { return Convert::widen(pair >> 16); }
};

struct BF16Bits {
  static float widen(unsigned bits) { return __bfloat162float({static_cast<uint16_t>(bits)}); }
  static uint16_t narrow(float x) { return __float2bfloat16_rn(x).bits; }
};
struct F16Bits {
  static float widen(unsigned bits) {
    auto narrow = static_cast<uint16_t>(bits);
    __half value;
    std::memcpy(&value, &narrow, sizeof(value));
    return value;
  }
  static uint16_t narrow(float x) {
    __half value = __float2half_rn(x);
    uint16_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
};

template <>
struct TensorCore<__nv_bfloat16> : HostTensorCore<BF16Bits> {};
template <>
struct TensorCore<__half> : HostTensorCore<F16Bits> {};

template <>
struct TensorCore<float> {
  static void multiply(float &sum0, float &sum1, float &sum2, float &sum3, const unsigned (&left)[4], unsigned right0,
                       unsigned right1) {
    auto lanes = HostBlock::current->pass(HostFragments{{left[0], left[1], left[2], left[3]}, {right0, right1}});
    unsigned row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    auto widen = [](unsigned bits) { return __uint_as_float(bits & 0xffffe000u); };
    auto dot = [&](unsigned half, unsigned column) {
      float sum = 0;
      for (unsigned k = 0; k < 8; ++k)
        sum += widen(lanes.values[row * 4 + k % 4].left[half + k / 4 * 2]) *
               widen(lanes.values[column * 4 + k % 4].right[k / 4]);
      return sum;
    };
    sum0 += dot(0, column);
    sum1 += dot(0, column + 1);
    sum2 += dot(1, column);
    sum3 += dot(1, column + 1);
  }
  static unsigned round(unsigned bits) { return bits + 0x1000; }
};

#endif // CS336_TEST_PYTHON_DEVICE_LIBRARY_ON_HOST_H
