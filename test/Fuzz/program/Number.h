//===- Number.h - Numbers with bounds of rounding errors --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference carries a running error analysis with every element, so that no tolerance is chosen for a whole
// program. A number holds the exact value, a bound of its distance to the result of any order of rounded operations,
// and the derivative along one direction of all parameters, also with a bound. If rounding could change a comparison, a
// maximum or a truncation, the elements that depend on it are unknown: they are not compared, but the rest of the
// program is.
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
  /// A compiled program computes a number within value ± error. If the error is not finite, the number is unknown.
  double error = 0;
  /// The derivative along a direction in which parameters move.
  double slope = 0;
  /// Σ |Π partial derivatives along the path · direction| over all paths from parameters. Rounding errors of a
  /// derivative are relative to it, forward and in reverse, also if terms cancel in `slope`.
  double paths = 0;
  double slopeError = 0;

  /// An infinity is known if nothing was rounded before it.
  bool isKnown() const { return error <= 1e300 && !std::isnan(value); }
  bool isSlopeKnown() const { return slopeError <= 1e300 && std::isfinite(slope); }
};

Number exact(double value);
Number unknown(const Number &number = {});
/// Returns the number without a derivative.
Number stopped(Number number);

/// Returns `value` rounded to the nearest value of the type, ties to even; integers are truncated.
double roundTo(double value, DType dtype);

/// Arithmetic in an element type within a pipeline. Every result is rounded once: in float32 and float64 by at most 4
/// times the unit roundoff, because functions are approximations; in narrower types by the unit roundoff, because these
/// are computed in float32. Autocast may compute any operation in its type.
class Arithmetic {
public:
  Arithmetic(DType dtype, ComputeType compute);

  /// Returns an operand as an operation reads it: autocast may round it first.
  Number operand(Number x) const;
  /// Returns `x` after one rounding. If nothing was rounded before, a representable result is exact.
  Number rounded(Number x, bool isExact = false) const;

  Number add(const Number &x, const Number &y) const;
  Number sub(const Number &x, const Number &y) const { return add(x, neg(y)); }
  Number mul(const Number &x, const Number &y) const;
  Number div(const Number &x, const Number &y) const;
  Number neg(Number x) const;
  /// A tie has no derivative.
  Number max(const Number &x, const Number &y) const;
  /// Returns max(x, 0), whose derivative at 0 is 0.
  Number relu(const Number &x) const;
  /// Sums in any order, accumulated in float32 or wider.
  Number sum(absl::Span<const Number> terms) const;
  /// Returns the largest number. Equal elements share its derivative.
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
  /// Defined for x > 0.
  Number pow(const Number &x, const Number &y) const;

  double getUnit() const { return unit; }
  /// Returns the largest absolute error of a result that underflows.
  double getSmallest() const { return smallest; }

private:
  /// Returns f(x), from f and its first two derivatives there, for arguments within `reach` of x. `scale` bounds the
  /// terms of the first derivative.
  Number apply(const Number &x, double f, double f1, double f2, double reach, double scale) const;

  bool isFloat, isLow;
  int digits;
  double unit, accumulatorUnit, smallest, largest;
};

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_PROGRAM_NUMBER_H
