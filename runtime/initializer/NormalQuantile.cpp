//===- NormalQuantile.cpp - Inverse of the normal distribution ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "initializer/NormalQuantile.h"

#include "initializer/VectorClones.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace cs336::runtime {

namespace {

/// Evaluates numerator over denominator, both of degree 7 with the highest
/// power first.
struct Rational {
  double numerator[8], denominator[8];

  double operator()(double x) const {
    double above = numerator[0], below = denominator[0];
    for (int power = 1; power != 8; ++power) {
      above = above * x + numerator[power];
      below = below * x + denominator[power];
    }
    return above / below;
  }
};

/// Coefficients for 0.425² - q², where |q| = |p - 1/2| is at most 0.425.
constexpr Rational kCentre = {
    {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4, 4.5921953931549871457e+4,
     1.3731693765509461125e+4, 1.9715909503065514427e+3, 1.3314166789178437745e+2, 3.3871328727963666080e+0},
    {5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
     5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0}};

/// Coefficients for r - 1.6, where r = sqrt(-log(min(p, 1 - p))) is at most 5.
constexpr Rational kTail = {
    {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e+0,
     3.64784832476320460504e+0, 5.76949722146069140550e+0, 4.63033784615654529590e+0, 1.42343711074968357734e+0},
    {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e+0, 2.05319162663775882187e+0, 1.0}};

/// Coefficients for r - 5, for larger r.
constexpr Rational kFarTail = {
    {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e+0, 5.46378491116411436990e+0, 6.65790464350110377720e+0},
    {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0}};

/// The largest distance from 1/2 to which the formula of the centre applies.
constexpr double kCentreReach = 0.425;

/// This many values stay in the first-level cache.
constexpr size_t kBlock = 512;

/// Computes the natural logarithm of a normal number by log(m) = 2 artanh((m - 1) / (m + 1)) with m in [sqrt(1/2),
/// sqrt(2)). The library's function computes one value at a time and differs between machines.
inline double Log(double x) {
  constexpr uint64_t kOne = std::bit_cast<uint64_t>(1.0), kRootOfHalf = std::bit_cast<uint64_t>(M_SQRT1_2);
  constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
  uint64_t bits = std::bit_cast<uint64_t>(x) + (kOne - kRootOfHalf);
  // Below the exponent of 2^52 there is an integer.
  double exponent = std::bit_cast<double>(bits >> 52 | std::bit_cast<uint64_t>(0x1p52)) - (0x1p52 + 1023);
  double mantissa = std::bit_cast<double>((bits & kMantissa) + kRootOfHalf);
  double ratio = (mantissa - 1) / (mantissa + 1), square = ratio * ratio;
  double series = 1.0 / 23; // The next term is 2^-56 times the first.
  for (int power = 21; power > 0; power -= 2)
    series = series * square + 1.0 / power;
  return exponent * M_LN2 + 2 * ratio * series;
}

CS336_VECTOR_CLONES void FindInCentre(const double *probabilities, double *quantiles, size_t count) {
  for (size_t i = 0; i != count; ++i) {
    double q = probabilities[i] - 0.5;
    quantiles[i] = q * kCentre(kCentreReach * kCentreReach - q * q);
  }
}

CS336_VECTOR_CLONES void FindInTails(double *values, size_t count) {
  for (size_t i = 0; i != count; ++i) {
    double p = values[i];
    double r = std::sqrt(-Log(std::min(p, 1 - p)));
    double tail = kTail(r - 1.6), farTail = kFarTail(r - 5);
    values[i] = std::copysign(r <= 5 ? tail : farTail, p - 0.5);
  }
}

/// Applies the formula of the centre to all values, which is cheaper than a choice per value, then the formulas of
/// the tails to the values there, gathered side by side.
void FindInBlock(absl::Span<double> values) {
  std::array<double, kBlock> probabilities, tails;
  std::array<size_t, kBlock> places;
  std::copy(values.begin(), values.end(), probabilities.begin());
  FindInCentre(probabilities.data(), values.data(), values.size());
  size_t count = 0;
  for (size_t i = 0; i != values.size(); ++i) {
    places[count] = i;
    tails[count] = probabilities[i];
    count += std::abs(probabilities[i] - 0.5) > kCentreReach;
  }
  FindInTails(tails.data(), count);
  for (size_t i = 0; i != count; ++i)
    values[places[i]] = tails[i];
}

} // namespace

void NormalQuantile(absl::Span<double> values) {
  for (; !values.empty(); values.remove_prefix(std::min(values.size(), kBlock)))
    FindInBlock(values.subspan(0, kBlock));
}

} // namespace cs336::runtime
