//===- Initializer.cpp - Initial values of variables ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "initializer/Initializer.h"

#include "initializer/NormalQuantile.h"
#include "initializer/Philox.h"
#include "initializer/VectorClones.h"
#include "parallel/Parallel.h"
#include "tensor/Elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace cs336::runtime {

namespace {

/// Returns the FNV-1a hash, which must be the same on all machines and in all
/// versions, because a seed's values depend on it.
uint64_t HashName(absl::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : name)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

double NormalCdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

/// The number of pairs of values that are drawn at once.
constexpr int64_t kBlock = 256;

/// Draws uniform values in (0, 1) from 52 bits of Philox each: two values per
/// counter.
CS336_VECTOR_CLONES void DrawUniform(uint64_t seed, uint64_t stream, int64_t counter, double *values) {
  std::array<uint64_t, 2 * kBlock> bits;
  for (int64_t i = 0; i != kBlock; ++i) {
    uint64_t next = static_cast<uint64_t>(counter + i);
    auto words = Philox({static_cast<uint32_t>(next), static_cast<uint32_t>(next >> 32), static_cast<uint32_t>(stream),
                         static_cast<uint32_t>(stream >> 32)},
                        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    bits[2 * i] = uint64_t{words[1]} << 32 | words[0];
    bits[2 * i + 1] = uint64_t{words[3]} << 32 | words[2];
  }
  // The bits are the digits of a number in [1, 2). Subtracts 1 and adds half a
  // digit.
  for (int64_t i = 0; i != 2 * kBlock; ++i)
    values[i] = std::bit_cast<double>(bits[i] >> 12 | std::bit_cast<uint64_t>(1.0)) - (1 - 0x1p-53);
}

template <typename T>
void FillTruncatedNormal(const format::InitT &init, uint64_t seed, absl::string_view name, T *values, int64_t count,
                         int64_t first) {
  uint64_t stream = HashName(name);
  double lower = NormalCdf(-init.cut), width = NormalCdf(init.cut) - lower;
  // A pair of values has one counter: an odd first element is the second of its pair.
  int64_t skipped = first % 2;
  int64_t blocks = (skipped + count + 2 * kBlock - 1) / (2 * kBlock);
  constexpr int64_t kGrain = 16;
  ParallelFor(blocks, kGrain, [&](int64_t begin, int64_t end) {
    std::array<double, 2 * kBlock> drawn;
    for (int64_t block = begin; block != end; ++block) {
      DrawUniform(seed, stream, first / 2 + block * kBlock, drawn.data());
      for (double &value : drawn)
        value = lower + value * width;
      NormalQuantile(absl::MakeSpan(drawn));
      int64_t offset = block * 2 * kBlock - skipped;
      int64_t size = std::min(2 * kBlock, count - offset);
      // Rounding at the ends of the interval must not exceed the cut.
      for (int64_t i = block == 0 ? skipped : 0; i != size; ++i)
        values[offset + i] = static_cast<T>(std::clamp(drawn[i], -init.cut, init.cut) * init.std);
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
    case format::InitKind::none:
      return;
    }
  });
}

} // namespace cs336::runtime
