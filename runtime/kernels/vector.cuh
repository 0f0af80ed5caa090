//===- vector.cuh - Accesses of several neighbouring elements ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// `size` neighbouring elements, a power of two of them, in registers. Memory is read and written 16 bytes at a time,
/// or all at once where they are fewer; addresses are multiples of that.
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

/// What that many bytes of a vector are written as.
template <int bytes>
struct WordOf {
  using Type = uint4;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<1> {
  using Type = unsigned char;
};

/// Each word in one instruction: of a plain assignment of elements that were just computed, the compiler may make
/// several narrower ones.
template <int size, class Element>
__device__ inline void storeVector(Element *address, const Vector<Element, size> &vector) {
  using Word = typename WordOf<sizeof(vector)>::Type;
  const Word *words = reinterpret_cast<const Word *>(&vector);
#pragma unroll
  for (int i = 0; i < sizeof(vector) / sizeof(Word); ++i)
    __stwb(reinterpret_cast<Word *>(address) + i, words[i]);
}
