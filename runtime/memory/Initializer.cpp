//===- Initializer.cpp - Initial values of variables ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/Initializer.h"

#include "device/cpu/Parallel.h"
#include "memory/NormalQuantile.h"
#include "memory/Philox.h"
#include "tensor/Elements.h"

#include <algorithm>
#include <cmath>

namespace cs336::runtime {

namespace {

/// FNV-1a: stable between machines and versions, as a seed's meaning must be.
uint64_t HashName(absl::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : name)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

/// Uniform in the open interval (0, 1), from 53 random bits.
double Uniform(uint32_t low, uint32_t high) {
  uint64_t bits = (uint64_t{high} << 32 | low) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

double NormalCdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

template <typename T>
void FillTruncatedNormal(const format::InitT &init, uint64_t seed, absl::string_view name, T *values, int64_t count,
                         int64_t first) {
  uint64_t stream = HashName(name);
  double lower = NormalCdf(-init.cut), width = NormalCdf(init.cut) - lower;
  auto sample = [&](double uniform) {
    double x = NormalQuantile(lower + uniform * width);
    // Rounding at the ends of the interval must not pass the cut.
    return static_cast<T>(std::clamp(x, -init.cut, init.cut) * init.std);
  };
  int64_t pairs = (count + 1) / 2;
  constexpr int64_t kGrain = 4096;
  ParallelFor(pairs, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t pair = begin; pair != end; ++pair) {
      int64_t counter = first / 2 + pair;
      auto bits = Philox({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                          static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                         {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
      values[2 * pair] = sample(Uniform(bits[0], bits[1]));
      if (2 * pair + 1 < count)
        values[2 * pair + 1] = sample(Uniform(bits[2], bits[3]));
    }
  });
}

} // namespace

void Initialize(const format::InitT &init, uint64_t seed, absl::string_view name, const MutableTensorView &values,
                int64_t first) {
  int64_t count = values.num_elements();
  VisitElement(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T *elements = values.mutable_data_as<T>();
    switch (init.kind) {
    case format::InitKind::zeros:
      std::fill_n(elements, count, static_cast<T>(0));
      return;
    case format::InitKind::ones:
      std::fill_n(elements, count, static_cast<T>(1));
      return;
    case format::InitKind::constant:
      std::fill_n(elements, count, static_cast<T>(init.value));
      return;
    case format::InitKind::truncated_normal:
      if constexpr (kIsFloatElement<T>)
        FillTruncatedNormal(init, seed, name, elements, count, first);
      return;
    }
  });
}

} // namespace cs336::runtime
