//===- reduce.cuh - Reductions over threads ---------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Reduces the elements of a vector.
template <class T, int size, class Combine>
__device__ inline T reduceLanes(const Vector<T, size> &values, Combine combine) {
  T result = values[0];
#pragma unroll
  for (int lane = 1; lane < size; ++lane)
    result = combine(result, values[lane]);
  return result;
}

/// Reduces the values of a warp's threads, or of each group of `threads` consecutive ones, a power of two. All of them
/// call it and get the result.
template <int threads = 32, class T, class Combine>
__device__ inline T reduceWarp(T value, Combine combine) {
#pragma unroll
  for (int distance = threads / 2; distance > 0; distance /= 2)
    value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, distance)));
  return value;
}

/// Reduces the values of a block's `threads` threads. All of them call it and get the result. A kernel calls it at most
/// once per type of `combine` (every lambda has its own type), because a second call would reuse the shared array
/// without a barrier.
template <int threads, class T, class Combine>
__device__ inline T reduceBlock(T value, Combine combine) {
  __shared__ T warpResults[threads / 32];
  value = reduceWarp(value, combine);
  if (threadIdx.x % 32 == 0)
    warpResults[threadIdx.x / 32] = value;
  __syncthreads();
  T result = warpResults[0];
#pragma unroll
  for (int warp = 1; warp < threads / 32; ++warp)
    result = combine(result, warpResults[warp]);
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

/// Reduces along the columns of a block of `columns` times `rows` threads, where thread t is in column t % columns. The
/// first row gets the results of its columns. All threads call it. T is a value or a vector of values.
template <int columns, int rows, class T, class Combine>
__device__ inline T reduceColumns(T value, Combine combine) {
  __shared__ T threadValues[columns * rows];
  threadValues[threadIdx.x] = value;
  __syncthreads();
  T result = threadValues[threadIdx.x % columns];
#pragma unroll
  for (int row = 1; row < rows; ++row)
    result = combineEach(result, threadValues[row * columns + threadIdx.x % columns], combine);
  return result;
}
