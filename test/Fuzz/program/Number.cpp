//===- Number.cpp - Numbers with bounds of rounding errors ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Number.h"

#include <algorithm>
#include <limits>

namespace cs336::fuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnitsPerOperation = 4;

/// Digits of the significand, least exponent of normal numbers, and the largest magnitude that can be expected to be
/// computed without intermediate overflow.
struct Format {
  int digits, leastExponent;
  double largest;
};

Format formatOf(DType dtype) {
  switch (dtype) {
  case DType::kF64:
    return {53, -1022, 1e150};
  case DType::kF32:
    return {24, -126, 1e30};
  case DType::kBF16:
    return {8, -126, 1e30};
  case DType::kF16:
    return {11, -14, 1e4};
  case DType::kI64:
    return {53, 0, 9e15};
  case DType::kI32:
    return {31, 0, 2147483647.0};
  case DType::kI1:
    return {1, 0, 1};
  }
  return {};
}

double roundToFormat(double value, const Format &format) {
  if (value == 0 || !std::isfinite(value))
    return value;
  double quantum = std::ldexp(1, std::max(std::ilogb(value), format.leastExponent) - format.digits + 1);
  return std::rint(value / quantum) * quantum;
}

/// Returns true if the number is certain to be an infinity.
bool isInfinite(const Number &x) { return std::isinf(x.value) && x.error == 0; }

bool isFinite(const Number &x) { return x.isKnown() && std::isfinite(x.value); }

/// Returns true if x + y is `sum` without rounding to float64 (the error term of Knuth's two-sum is zero).
bool isExactSum(double x, double y, double sum) {
  double part = sum - x;
  return (x - (sum - part)) + (y - part) == 0;
}

bool isExactProduct(double x, double y, double product) { return std::fma(x, y, -product) == 0; }

} // namespace

Number exact(double value) { return {.value = value}; }

Number unknown(const Number &number) {
  Number unknown = number;
  unknown.error = unknown.slopeError = kInfinity;
  return unknown;
}

Number stopped(Number number) {
  number.slope = number.paths = number.slopeError = 0;
  return number;
}

double roundTo(double value, DType dtype) {
  if (!runtime::IsFloat(dtype))
    return std::trunc(value);
  // float64 is converted to narrow types through float32.
  if (dtype == DType::kBF16 || dtype == DType::kF16)
    value = static_cast<float>(value);
  return roundToFormat(value, formatOf(dtype));
}

Arithmetic::Arithmetic(DType dtype, ComputeType compute) : isFloat(runtime::IsFloat(dtype)) {
  Format format = formatOf(dtype);
  if (isFloat && compute == ComputeType::kTF32)
    format.digits = std::min(format.digits, formatOf(DType::kF16).digits);
  for (auto [type, narrow] : {std::pair(ComputeType::kBF16, DType::kBF16), std::pair(ComputeType::kFP16, DType::kF16)})
    if (isFloat && compute == type) {
      Format low = formatOf(narrow);
      format = {std::min(format.digits, low.digits), std::max(format.leastExponent, low.leastExponent),
                std::min(format.largest, low.largest)};
    }
  isLow = isFloat && compute != ComputeType::kFP32;
  digits = format.digits;
  largest = format.largest;
  bool isNarrow = digits < formatOf(DType::kF32).digits;
  unit = isFloat ? (isNarrow ? 1 : kUnitsPerOperation) * std::ldexp(1, -digits) : 0;
  accumulatorUnit = isFloat ? std::ldexp(1, -std::max(digits, formatOf(DType::kF32).digits)) : 0;
  // Subnormal numbers may be flushed, except in f16, whose smallest numbers matter.
  int subnormalDigits = format.leastExponent == formatOf(DType::kF16).leastExponent ? digits - 1 : 0;
  smallest = isFloat ? std::ldexp(1, format.leastExponent - subnormalDigits) : 0;
}

Number Arithmetic::operand(Number x) const {
  if (!isLow || !isFinite(x))
    return x;
  return rounded(x, x.error == 0);
}

Number Arithmetic::rounded(Number x, bool isExact) const {
  if (isInfinite(x))
    return x;
  bool isSubnormal = x.value != 0 && std::abs(x.value) < smallest;
  if (!isExact || isSubnormal || roundToFormat(x.value, {digits, -1022, 0}) != x.value)
    x.error += unit * std::abs(x.value) + smallest;
  x.slopeError += unit * x.paths;
  return std::abs(x.value) + x.error <= largest ? x : unknown(x);
}

Number Arithmetic::add(const Number &x, const Number &y) const {
  if (isInfinite(x) || isInfinite(y)) {
    bool isKnown = x.isKnown() && y.isKnown() && !std::isnan(x.value + y.value);
    return isKnown ? exact(x.value + y.value) : unknown();
  }
  Number sum = {.value = x.value + y.value,
                .error = x.error + y.error,
                .slope = x.slope + y.slope,
                .paths = x.paths + y.paths,
                .slopeError = x.slopeError + y.slopeError};
  return rounded(sum, sum.error == 0 && isExactSum(x.value, y.value, sum.value));
}

Number Arithmetic::mul(const Number &x, const Number &y) const {
  if (isInfinite(x) || isInfinite(y)) {
    bool isKnown = x.isKnown() && y.isKnown() && std::abs(x.value) > x.error && std::abs(y.value) > y.error;
    return isKnown ? exact(x.value * y.value) : unknown();
  }
  Number product = {.value = x.value * y.value,
                    .error = std::abs(x.value) * y.error + std::abs(y.value) * x.error + x.error * y.error,
                    .slope = x.value * y.slope + y.value * x.slope,
                    .paths = std::abs(x.value) * y.paths + std::abs(y.value) * x.paths};
  product.slopeError = std::abs(x.value) * y.slopeError + std::abs(y.value) * x.slopeError +
                       x.error * (y.paths + y.slopeError) + y.error * (x.paths + x.slopeError);
  return rounded(product, x.error == 0 && y.error == 0 && isExactProduct(x.value, y.value, product.value));
}

Number Arithmetic::div(const Number &x, const Number &y) const {
  double r = 1 / y.value;
  return mul(x, apply(y, r, -r * r, 2 * r * r * r, std::abs(y.value) / 4, r * r));
}

Number Arithmetic::neg(Number x) const {
  x.value = -x.value;
  x.slope = -x.slope;
  return x;
}

Number Arithmetic::max(const Number &x, const Number &y) const {
  if (!x.isKnown() || !y.isKnown())
    return unknown(x);
  const Number &larger = x.value >= y.value ? x : y;
  if (std::abs(x.value - y.value) > x.error + y.error)
    return larger;
  Number tie = larger;
  tie.error = std::max(x.error, y.error);
  tie.paths = std::max(x.paths, y.paths);
  tie.slopeError = tie.paths > 0 ? kInfinity : 0;
  return tie;
}

Number Arithmetic::relu(const Number &x) const {
  if (!x.isKnown())
    return x;
  bool isUnclear = x.error > 0 && std::abs(x.value) <= x.error;
  Number result = x.value > 0 || isUnclear ? x : exact(0);
  result.value = std::max(x.value, 0.0);
  if (isUnclear && x.paths > 0)
    result.slopeError = kInfinity;
  return result;
}

Number Arithmetic::sum(absl::Span<const Number> terms) const {
  // Sums of small multiples of 2⁻¹⁰ are exact in any order.
  constexpr double kQuantum = 1.0 / 1024;
  Number sum;
  double magnitude = 0, quantumCount = static_cast<double>(terms.size());
  bool isExact = true;
  for (const Number &term : terms) {
    sum.value += term.value;
    sum.error += term.error;
    sum.slope += term.slope;
    sum.paths += term.paths;
    sum.slopeError += term.slopeError;
    magnitude += std::abs(term.value);
    isExact &= term.error == 0 && std::rint(term.value / kQuantum) == term.value / kQuantum;
  }
  isExact &= magnitude / kQuantum < std::ldexp(1, std::max(digits, formatOf(DType::kF32).digits));
  if (terms.size() == 1)
    return terms.front();
  if (!isExact)
    sum.error += quantumCount * accumulatorUnit * magnitude;
  sum.slopeError += quantumCount * accumulatorUnit * sum.paths;
  return rounded(sum, isExact);
}

Number Arithmetic::max(absl::Span<const Number> terms) const {
  Number largest = {.value = -kInfinity};
  for (const Number &term : terms) {
    if (!term.isKnown())
      return unknown(term);
    if (term.value > largest.value)
      largest = term;
  }
  // The elements that rounding could make the largest.
  Number shared = {.value = largest.value, .error = largest.error};
  double count = 0;
  bool isClear = true;
  for (const Number &term : terms) {
    if (!(term.value + term.error >= largest.value - largest.error))
      continue;
    ++count;
    isClear &= term.value == largest.value && term.error == 0;
    shared.error = std::max(shared.error, term.error);
    shared.slope += term.slope;
    shared.paths += term.paths;
    shared.slopeError += term.slopeError;
  }
  if (count <= 1)
    return largest;
  shared.slope /= count;
  if (!isClear && shared.paths > 0)
    shared.slopeError = kInfinity;
  return shared;
}

Number Arithmetic::apply(const Number &x, double f, double f1, double f2, double reach, double scale) const {
  Number y = {.value = f,
              .error = std::abs(f1) * x.error + std::abs(f2) * x.error * x.error,
              .slope = f1 * x.slope,
              .paths = std::abs(f1) * x.paths,
              .slopeError = std::abs(f1) * x.slopeError};
  y.slopeError += (std::abs(f2) * x.error * 2 + unit * scale) * (x.paths + x.slopeError);
  return isFinite(x) && std::isfinite(f) && x.error <= reach ? rounded(y) : unknown(y);
}

Number Arithmetic::exp(const Number &x) const {
  if (isInfinite(x) && x.value < 0)
    return exact(0);
  double f = std::exp(x.value), most = std::exp(x.value + x.error);
  constexpr double kReach = 0.25;
  // A masked score, which only has to be small enough.
  if (x.isKnown() && x.error > kReach && most < 1)
    return rounded({.value = f,
                    .error = most,
                    .slope = f * x.slope,
                    .paths = most * x.paths,
                    .slopeError = most * (x.paths + x.slopeError)});
  return apply(x, f, f, f, kReach, f);
}

Number Arithmetic::log(const Number &x) const {
  double r = 1 / x.value;
  return apply(x, std::log(x.value), r, r * r, x.value / 4, r);
}

Number Arithmetic::sqrt(const Number &x) const {
  double f = std::sqrt(x.value);
  return apply(x, f, 0.5 / f, 0.25 / (f * x.value), x.value / 4, 0.5 / f);
}

Number Arithmetic::rsqrt(const Number &x) const {
  double f = 1 / std::sqrt(x.value), f1 = -0.5 * f / x.value;
  return apply(x, f, f1, 0.75 * f / (x.value * x.value), x.value / 4, -f1);
}

Number Arithmetic::sin(const Number &x) const {
  return apply(x, std::sin(x.value), std::cos(x.value), 1, /*reach=*/0.25, /*scale=*/1);
}

Number Arithmetic::cos(const Number &x) const {
  return apply(x, std::cos(x.value), -std::sin(x.value), 1, /*reach=*/0.25, /*scale=*/1);
}

Number Arithmetic::tanh(const Number &x) const {
  double f = std::tanh(x.value);
  return apply(x, f, 1 - f * f, 1, /*reach=*/0.25, /*scale=*/1);
}

Number Arithmetic::erf(const Number &x) const {
  double f1 = 2 / std::sqrt(M_PI) * std::exp(-x.value * x.value);
  return apply(x, std::erf(x.value), f1, 1, /*reach=*/0.25, f1 * (1 + x.value * x.value));
}

Number Arithmetic::sigmoid(const Number &x) const {
  if (isInfinite(x))
    return exact(x.value > 0);
  double f = 1 / (1 + std::exp(-x.value));
  return apply(x, f, f * (1 - f), f, /*reach=*/0.25, f);
}

Number Arithmetic::pow(const Number &x, const Number &y) const {
  Arithmetic wide = *this;
  Number exponent = wide.mul(y, wide.log(x));
  return exp(exponent);
}

} // namespace cs336::fuzz
