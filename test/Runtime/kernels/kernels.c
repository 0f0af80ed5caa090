//===- kernels.c - Kernels as the compiler would emit them ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <math.h>
#include <stdint.h>

/* Operands: f32 x[rows, 4], f32 w[4], f32 y[rows, 4]; y = x * w. */
void scale_rows(void *const *operands, int64_t begin, int64_t end) {
  const float *x = operands[0], *w = operands[1];
  float *y = operands[2];
  for (int64_t row = begin; row < end; ++row)
    for (int64_t i = 0; i < 4; ++i)
      y[row * 4 + i] = x[row * 4 + i] * w[i];
}

/* Operands: f32 table[n, 4], i64 ids[rows], each below n, f32 y[rows, 4]; y = table[ids]. */
void gather_rows(void *const *operands, int64_t begin, int64_t end) {
  const float *table = operands[0];
  const int64_t *ids = operands[1];
  float *y = operands[2];
  for (int64_t row = begin; row < end; ++row)
    for (int64_t i = 0; i < 4; ++i)
      y[row * 4 + i] = table[ids[row] * 4 + i];
}

/* Operands: i64 counter; counter += 1. */
void increment(void *const *operands, int64_t begin, int64_t end) {
  int64_t *counter = operands[0];
  for (int64_t row = begin; row < end; ++row)
    ++*counter;
}

/* Operands: f32 x[rows], f32 y[rows]; y = log(x), which libm provides. */
void logarithm(void *const *operands, int64_t begin, int64_t end) {
  const float *x = operands[0];
  float *y = operands[1];
  for (int64_t row = begin; row < end; ++row)
    y[row] = logf(x[row]);
}

/* Operands: i64 calls[rows, 4], and 256 bytes of the thread's memory, which keep where the range begins. Each row gets
   the range it was computed in, where the memory is, and what it finds there. */
void remember_in_thread_memory(void *const *operands, int64_t begin, int64_t end) {
  int64_t *calls = operands[0], *memory = operands[1];
  for (int i = 0; i < 32; ++i)
    memory[i] = begin;
  for (int64_t row = begin; row < end; ++row) {
    calls[4 * row] = begin;
    calls[4 * row + 1] = end;
    calls[4 * row + 2] = (int64_t)memory;
    calls[4 * row + 3] = memory[row % 32];
  }
}

/* Operands: i64 calls[rows, 2]; each row gets the range it was computed in. */
void record_range(void *const *operands, int64_t begin, int64_t end) {
  int64_t *ranges = operands[0];
  for (int64_t row = begin; row < end; ++row) {
    ranges[2 * row] = begin;
    ranges[2 * row + 1] = end;
  }
}
