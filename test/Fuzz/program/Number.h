//===- Number.h - Numbers with bounds of their rounding errors --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference carries a running error analysis with every element, so that
// no tolerance is chosen for a whole program. A number holds the exact value,
// a bound of how far any order of rounded operations may be from it, and the
// derivative along one direction of all parameters, also with a bound. Rounding
// that could change a comparison, a maximum or a truncation makes the elements
// that depend on it unknown: nothing is expected of them, and the rest of the
// program is still compared.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_PROGRAM_NUMBER_H
#define CS336_TEST_FUZZ_PROGRAM_NUMBER_H

#include "cs336/runtime/DType.h"

#include "absl/types/span.h"

#include <cmath>

namespace cs336::fuzz {

using runtime::DType;

/// The arithmetic of a pipeline (its option `dtype`).
enum class ComputeType { kFP32, kTF32, kBF16, kFP16 };

struct Number {
  double value = 0;
  /// A compiled program computes a number within value ± error. Not finite: unknown.
  double error = 0;
  /// The derivative along a direction in which parameters move.
  double slope = 0;
  /// Σ |product of partial derivatives along the path · direction| over all paths from parameters: rounding errors of a
  /// derivative are relative to it, forward and in reverse, whatever cancels in `slope`.
  double paths = 0;
  double slopeError = 0;

  /// An infinity is known where nothing was rounded on the way to it.
  bool isKnown() const { return error <= 1e300 && !std::isnan(value); }
  bool isSlopeKnown() const { return slopeError <= 1e300 && std::isfinite(slope); }
};

Number exact(double value);
Number unknown(const Number &number = {});
/// As the number, without a derivative.
Number stopped(Number number);

/// `value` rounded to the nearest of the type, ties to even; of integers, truncated.
double roundTo(double value, DType dtype);

/// Arithmetic in an element type within a pipeline. Every result is rounded once: in float32 and float64 by at most 4
/// times the unit roundoff, since functions are approximations, in narrower types by once, since these are computed in
/// float32. Autocast may compute any operation in its type.
class Arithmetic {
public:
  Arithmetic(DType dtype, ComputeType compute);

  /// An operand as an operation sees it: autocast may round it first.
  Number operand(Number x) const;
  /// `x` after one rounding. Where nothing before was rounded, a representable result is exact.
  Number rounded(Number x, bool isExact = false) const;

  Number add(const Number &x, const Number &y) const;
  Number sub(const Number &x, const Number &y) const { return add(x, neg(y)); }
  Number mul(const Number &x, const Number &y) const;
  Number div(const Number &x, const Number &y) const;
  Number neg(Number x) const;
  /// A tie has no derivative.
  Number max(const Number &x, const Number &y) const;
  /// max(x, 0), whose derivative at 0 is 0.
  Number relu(const Number &x) const;
  /// In any order, accumulated in float32 or wider.
  Number sum(absl::Span<const Number> terms) const;
  /// The largest, whose derivative equal elements share.
  Number max(absl::Span<const Number> terms) const;

  Number exp(const Number &x) const;
  Number log(const Number &x) const;
  Number sqrt(const Number &x) const;
  Number rsqrt(const Number &x) const;
  Number sin(const Number &x) const;
  Number cos(const Number &x) const;
  Number tanh(const Number &x) const;
  Number erf(const Number &x) const;
  Number sigmoid(const Number &x) const;
  /// For x > 0.
  Number pow(const Number &x, const Number &y) const;

  double getUnit() const { return unit; }
  /// Most absolute error of a result that underflows.
  double getSmallest() const { return smallest; }

private:
  /// f(x), from f and its first two derivatives there, for arguments within `reach` of x. `scale` bounds the terms that
  /// the first derivative is computed from.
  Number apply(const Number &x, double f, double f1, double f2, double reach, double scale) const;

  bool isFloat, isLow;
  int digits;
  double unit, accumulatorUnit, smallest, largest;
};

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_PROGRAM_NUMBER_H
