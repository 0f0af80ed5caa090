//===- reduce.cuh - Combining the values of threads -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Of a vector's elements.
template <class T, int size, class Combine>
__device__ inline T reduceLanes(const Vector<T, size> &values, Combine combine) {
  T result = values[0];
#pragma unroll
  for (int lane = 1; lane < size; ++lane)
    result = combine(result, values[lane]);
  return result;
}

/// Of the threads of a warp, or of every `threads` neighbours in it, a power of two, all of which call it and get the
/// result.
template <int threads = 32, class T, class Combine>
__device__ inline T reduceWarp(T value, Combine combine) {
#pragma unroll
  for (int distance = threads / 2; distance > 0; distance /= 2)
    value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, distance)));
  return value;
}

/// Of the threads of a block of `threads`, all of which call it and get the result. A kernel calls it once for each
/// type of `combine`, as that of each lambda is: what it shares is not guarded against a second call.
template <int threads, class T, class Combine>
__device__ inline T reduceBlock(T value, Combine combine) {
  __shared__ T ofWarps[threads / 32];
  value = reduceWarp(value, combine);
  if (threadIdx.x % 32 == 0)
    ofWarps[threadIdx.x / 32] = value;
  __syncthreads();
  T result = ofWarps[0];
#pragma unroll
  for (int warp = 1; warp < threads / 32; ++warp)
    result = combine(result, ofWarps[warp]);
  return result;
}

template <class T, class Combine>
__device__ inline T combineEach(T a, T b, Combine combine) {
  return combine(a, b);
}
template <class T, int size, class Combine>
__device__ inline Vector<T, size> combineEach(Vector<T, size> a, const Vector<T, size> &b, Combine combine) {
#pragma unroll
  for (int lane = 0; lane < size; ++lane)
    a[lane] = combine(a[lane], b[lane]);
  return a;
}

/// Of a block of `columns` times `rows` threads, thread t in column t % columns: the first row gets the results of its
/// columns. All threads call it. T is a value or a vector of them.
template <int columns, int rows, class T, class Combine>
__device__ inline T reduceColumns(T value, Combine combine) {
  __shared__ T ofThreads[columns * rows];
  ofThreads[threadIdx.x] = value;
  __syncthreads();
  T result = ofThreads[threadIdx.x % columns];
#pragma unroll
  for (int row = 1; row < rows; ++row)
    result = combineEach(result, ofThreads[row * columns + threadIdx.x % columns], combine);
  return result;
}
