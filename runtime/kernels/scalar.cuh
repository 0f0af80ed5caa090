//===- scalar.cuh - Scalar functions that CUDA C++ lacks --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

__device__ inline float infinity() { return __int_as_float(0x7f800000); }
__device__ inline float notANumber() { return __int_as_float(0x7fc00000); }

/// Returns the larger of two floats, or NaN if either is NaN; +0 is larger than −0.
__device__ inline float maximum(float a, float b) {
#ifdef __CUDA_ARCH__
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
#else
  return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
}
__device__ inline double maximum(double a, double b) { return a != a ? a : b != b ? b : fmax(a, b); }
/// Returns the smaller of two floats, or NaN if either is NaN; −0 is smaller than +0.
__device__ inline float minimum(float a, float b) {
#ifdef __CUDA_ARCH__
  float smaller;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(a), "f"(b));
  return smaller;
#else
  return a != a ? a : b != b ? b : fminf(a, b);
#endif
}
__device__ inline double minimum(double a, double b) { return a != a ? a : b != b ? b : fmin(a, b); }

template <class Integer>
__device__ inline Integer maximum(Integer a, Integer b) {
  return a > b ? a : b;
}
template <class Integer>
__device__ inline Integer minimum(Integer a, Integer b) {
  return a < b ? a : b;
}

/// Returns the number as an index, or 2^32 - 1, which is out of every bound, if it is negative or too large.
__device__ inline unsigned asIndex(long long number) {
  return number >= 0 && number < 0xffffffffLL ? static_cast<unsigned>(number) : 0xffffffffu;
}

/// Returns e^x within 2 + 1.2·|x| units in the last place, and 0 for subnormal results. For results that are rounded to
/// 16 bits in the end.
__device__ inline float approximateExp(float x) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
  return power;
#else
  return expf(x);
#endif
}

/// Returns x / y within 2 units in the last place if |y| is at least 2^-126 and at most 2^126.
__device__ inline float approximateQuotient(float x, float y) {
#ifdef __CUDA_ARCH__
  return __fdividef(x, y);
#else
  return x / y;
#endif
}
/// Returns the square root of x with a relative error of at most 2^-23.
__device__ inline float approximateRoot(float x) {
#ifdef __CUDA_ARCH__
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
#else
  return sqrtf(x);
#endif
}

/// Divides many floats by the same divisor, within 2 units in the last place each: multiplies by the reciprocal, which
/// takes 2 instructions where a division takes 10. Scales divisors whose reciprocal is not a normal number.
struct Divisor {
  float scale, reciprocal;

  __device__ explicit Divisor(float x)
      : scale(fabsf(x) < 0x1p-126f  ? 0x1p64f
              : fabsf(x) > 0x1p126f ? 0x1p-64f
                                    : 1.0f),
        reciprocal(1.0f / (x * scale)) {}
};
__device__ inline float operator/(float x, const Divisor &divisor) { return x * divisor.scale * divisor.reciprocal; }
