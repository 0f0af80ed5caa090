//===- vector.cuh - Accesses of several elements at once --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// `size` consecutive elements, a power of two, in registers. Loads and stores move 16 bytes at a time, or the whole
/// vector if it is smaller. Addresses are multiples of this number of bytes.
template <class Element, int size>
struct alignas(sizeof(Element) * size < 16 ? sizeof(Element) * size : 16) Vector {
  Element elements[size];

  __device__ Element &operator[](int i) { return elements[i]; }
  __device__ const Element &operator[](int i) const { return elements[i]; }
};

template <int size, class Element>
__device__ inline Vector<Element, size> loadVector(const Element *address) {
  return *reinterpret_cast<const Vector<Element, size> *>(address);
}

/// The type of the stores of a vector of `bytes` bytes.
template <int bytes>
struct StoreWord {
  using Type = uint4;
};
template <>
struct StoreWord<8> {
  using Type = uint2;
};
template <>
struct StoreWord<4> {
  using Type = unsigned;
};
template <>
struct StoreWord<2> {
  using Type = unsigned short;
};
template <>
struct StoreWord<1> {
  using Type = unsigned char;
};

/// Stores a vector with one instruction per word. The compiler may split a plain assignment of elements that were just
/// computed into several narrower stores.
template <int size, class Element>
__device__ inline void storeVector(Element *address, const Vector<Element, size> &vector) {
  using Word = typename StoreWord<sizeof(vector)>::Type;
  const Word *words = reinterpret_cast<const Word *>(&vector);
#pragma unroll
  for (int i = 0; i < sizeof(vector) / sizeof(Word); ++i)
    __stwb(reinterpret_cast<Word *>(address) + i, words[i]);
}
