//===- DeviceGradientUpdateTest.cpp - Updates by gradients ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// gradient_tile.cuh and gradient_update.cuh of runtime/kernels, compiled for the host. Clusters have one block.
//
//===----------------------------------------------------------------------===//

#include "cuda_on_host.h"

// In the order of a kernel's text.
// clang-format off
#include "scalar.cuh"
#include "vector.cuh"
#include "reduce.cuh"
#include "batch.cuh"
#include "async_copy.cuh"
#include "mma.cuh"
#include "barrier.cuh"
#include "ring.cuh"
#include "wgmma.cuh"
#include "tensor_copy.cuh"
#include "slab_tile.cuh"
#include "warpgroup.cuh"
#include "gradient_tile.cuh"
#include "gradient_update.cuh"
// clang-format on

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

namespace {

template <int members>
struct FirstTiles {
  unsigned numbers[members + 1];
};

/// Returns the first tile of each member, and the number of tiles.
template <int clusterBlocks, int members>
constexpr FirstTiles<members> countTiles(const GradientSizes (&sizes)[members]) {
  constexpr int rows = clusterBlocks * GradientTile::rowsPerTile, columns = GradientTile::columnsPerTile;
  FirstTiles<members> first{};
  for (int member = 0; member < members; ++member)
    first.numbers[member + 1] = first.numbers[member] + clusterBlocks * ((sizes[member].rows + rows - 1) / rows) *
                                                            ((sizes[member].columns + columns - 1) / columns);
  return first;
}

//===----------------------------------------------------------------------===//
// gradient_tile.cuh
//===----------------------------------------------------------------------===//

template <int clusterBlocks>
void checkTiles() {
  constexpr GradientSizes sizes[] = {{1, 1, {3}},       {127, 255, {1}}, {128, 256, {70}}, {129, 257, {9}},
                                     {300, 1000, {20}}, {640, 70, {33}}, {1, 769, {4}},    {513, 512, {7}}};
  constexpr int members = std::size(sizes);
  constexpr FirstTiles<members> first = countTiles<clusterBlocks>(sizes);
  std::vector<std::vector<int>> covered;
  for (const GradientSizes &ofMember : sizes)
    covered.emplace_back(ofMember.rows * ofMember.columns);
  std::vector<std::tuple<int, int, int>> groups;
  GradientTile above{};
  for (int number = 0; number < static_cast<int>(first.numbers[members]); ++number) {
    const GradientTile tile = GradientTile::find<clusterBlocks>(first.numbers, sizes, number);
    ASSERT_GE(tile.member, 0) << "tile " << number;
    ASSERT_LT(tile.member, members) << "tile " << number;
    const GradientSizes &expected = sizes[tile.member];
    EXPECT_EQ(tile.sizes.rows, expected.rows);
    EXPECT_EQ(tile.sizes.columns, expected.columns);
    EXPECT_EQ(tile.sizes.tokens[0], expected.tokens[0]);
    ASSERT_GE(tile.row, 0) << "tile " << number;
    ASSERT_GE(tile.column, 0) << "tile " << number;
    if (number % clusterBlocks == 0) {
      groups.emplace_back(tile.member, tile.row, tile.column);
      EXPECT_LT(tile.row, tile.sizes.rows) << "tile " << number;
      EXPECT_LT(tile.column, tile.sizes.columns) << "tile " << number;
    } else {
      EXPECT_EQ(tile.member, above.member) << "tile " << number;
      EXPECT_EQ(tile.row, above.row + GradientTile::rowsPerTile) << "tile " << number;
      EXPECT_EQ(tile.column, above.column) << "tile " << number;
    }
    above = tile;
    for (int row = tile.row; row < std::min(tile.row + GradientTile::rowsPerTile, expected.rows); ++row)
      for (int column = tile.column; column < std::min(tile.column + GradientTile::columnsPerTile, expected.columns);
           ++column)
        ++covered[tile.member][row * expected.columns + column];
  }
  for (const std::vector<int> &ofMember : covered)
    EXPECT_EQ(std::count(ofMember.begin(), ofMember.end(), 1), ofMember.size()) << "member " << &ofMember - &covered[0];
  // All columns of the rows of a group come before the rows below.
  EXPECT_TRUE(std::is_sorted(groups.begin(), groups.end()));
}

TEST(GradientTileTest, TilesCoverEachElementOnce) { checkTiles<1>(); }
TEST(GradientTileTest, TilesOfAClusterLieBelowEachOther) { checkTiles<2>(); }

//===----------------------------------------------------------------------===//
// gradient_update.cuh
//===----------------------------------------------------------------------===//

float toFloat(__nv_bfloat16 x) { return __bfloat162float(x); }
float toFloat(__half x) { return __half2float(x); }

template <class Element>
Element roundTo(float x);
template <>
__nv_bfloat16 roundTo(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__half roundTo(float x) {
  return __float2half_rn(x);
}

/// Tiles end past the rows and columns of the first two members, and fit those of the third. The last steps of a part
/// have fewer tokens than a stage.
constexpr int kMembers = 3, kFloatsPerLine = 32;
template <int parts>
constexpr GradientSizes kSizes[kMembers] = {{192, 320, {70}}, {64, 64, {5}}, {256, 256, {33}}};
template <>
constexpr GradientSizes kSizes<2>[kMembers] = {{192, 320, {32, 38}}, {64, 64, {5, 65}}, {256, 256, {33, 1}}};
constexpr FirstTiles<kMembers> kFirstTiles = countTiles<1>(kSizes<1>);

/// The elements of a result, and others before and after them, as many as a tile could have by mistake.
template <class T>
class Guarded {
public:
  Guarded(size_t size, size_t guard, T value) : guard(guard), all(size + 2 * guard, value) {}

  T *begin() { return all.data() + guard; }
  T *end() { return all.data() + all.size() - guard; }
  /// Returns whether the other elements are still `value`.
  bool isIntact(T value) {
    auto isSame = [&](T element) { return std::memcmp(&element, &value, sizeof(value)) == 0; };
    return std::all_of(all.data(), begin(), isSame) && std::all_of(end(), all.data() + all.size(), isSame);
  }

private:
  const size_t guard;
  std::vector<T> all;
};

/// [token, column] in memory, with NaN between the columns of one token and those of the next. The elements are
/// multiples of 1/256 from -1 to 1. 70 terms of two of them have sums that are exact in float, in any order.
template <class Element>
struct Operand {
  int tokens, columns, stride;
  std::vector<Element> elements;

  template <class Random>
  Operand(int tokens, int columns, Random &random)
      : tokens(tokens), columns(columns), stride(columns + 64), elements(tokens * stride, roundTo<Element>(NAN)) {
    std::uniform_int_distribution<int> numbers(-256, 256);
    for (int token = 0; token < tokens; ++token)
      for (int column = 0; column < columns; ++column)
        elements[token * stride + column] = roundTo<Element>(numbers(random) / 256.0f);
  }

  double get(int token, int column) const { return toFloat(elements[token * stride + column]); }
  /// Returns a map of [slab, token, column of the slab] as the compiler describes it.
  TensorMap map(int columnsPerBox) {
    static_assert(sizeof(HostTensorMap) <= sizeof(TensorMap));
    const HostTensorMap host{reinterpret_cast<uint16_t *>(elements.data()),
                             {64, tokens, columns / 64, 1},
                             {1, stride, 64, 64},
                             /*boxRows=*/32,
                             /*stores=*/nullptr,
                             /*boxes=*/nullptr,
                             columnsPerBox / 64};
    TensorMap map{};
    std::memcpy(&map, &host, sizeof(host));
    return map;
  }
};

/// A member's operands, its results, and how often threads access them.
template <class Element>
struct Member {
  static constexpr float guardFloat = 7;
  static Element getGuardElement() { return roundTo<Element>(guardFloat); }

  const GradientSizes sizes;
  /// The operands of each part of the tokens.
  std::vector<Operand<Element>> lefts, rights;
  std::vector<float> before;
  Guarded<float> parameters;
  Guarded<Element> copies;
  Guarded<unsigned char> updates, fetches;

  template <class Random>
  Member(const GradientSizes &sizes, int parts, Random &random)
      : sizes(sizes), before(sizes.rows * sizes.columns), parameters(before.size(), getGuard(), guardFloat),
        copies(before.size(), getGuard(), getGuardElement()), updates(before.size(), getGuard(), 0),
        fetches(before.size() / kFloatsPerLine, getGuard() / kFloatsPerLine, 0) {
    for (int part = 0; part < parts; ++part) {
      lefts.emplace_back(sizes.tokens[part], sizes.rows, random);
      rights.emplace_back(sizes.tokens[part], sizes.columns, random);
    }
    std::normal_distribution<float> normal;
    std::generate(before.begin(), before.end(), [&] { return normal(random); });
    std::copy(before.begin(), before.end(), parameters.begin());
  }

  /// The sums of an element's terms are exact, so the only errors are the roundings that also happen here: results
  /// are equal to those of float64.
  void check() {
    for (int row = 0; row < sizes.rows; ++row)
      for (int column = 0; column < sizes.columns; ++column) {
        double sum = 0;
        for (size_t part = 0; part < lefts.size(); ++part)
          for (int token = 0; token < sizes.tokens[part]; ++token)
            sum += lefts[part].get(token, row) * rights[part].get(token, column);
        const int i = row * sizes.columns + column;
        const float expected = before[i] * 0.5f + toFloat(roundTo<Element>(static_cast<float>(sum)));
        ASSERT_EQ(parameters.begin()[i], expected) << "row " << row << ", column " << column;
        ASSERT_EQ(toFloat(copies.begin()[i]), toFloat(roundTo<Element>(expected)))
            << "row " << row << ", column " << column;
      }
    EXPECT_EQ(std::count(updates.begin(), updates.end(), 1), updates.end() - updates.begin());
    EXPECT_EQ(std::count(fetches.begin(), fetches.end(), 1), fetches.end() - fetches.begin());
    EXPECT_TRUE(parameters.isIntact(guardFloat));
    EXPECT_TRUE(copies.isIntact(getGuardElement()));
    EXPECT_TRUE(updates.isIntact(0));
    EXPECT_TRUE(fetches.isIntact(0));
  }

private:
  size_t getGuard() const { return GradientTile::rowsPerTile * sizes.columns + GradientTile::columnsPerTile; }
};

template <class Element>
struct Operands {
  struct Pointers {
    float *parameters;
    Element *copies;
    unsigned char *updates, *fetches;
  };
  Pointers pointers[kMembers];
};

/// As generated text describes members.
template <class ElementType, int partsOfTokens = 1>
struct Members {
  static constexpr int tiles = kFirstTiles.numbers[kMembers], parts = partsOfTokens;
  static GradientTile find(int number) { return GradientTile::find<1>(kFirstTiles.numbers, kSizes<parts>, number); }

  /// Halves a parameter and adds the gradient to it, in place, and stores a rounded copy.
  struct Update {
    using Index = unsigned;
    const typename Operands<ElementType>::Pointers pointers;
    struct Loaded {
      Vector<float, 4> parameters;
    };

    Update(const Operands<ElementType> &operands, int member) : pointers(operands.pointers[member]) {}
    void fetch(Index i0) const {
      fetchLine(pointers.parameters + i0);
      ++pointers.fetches[i0 / kFloatsPerLine];
    }
    Loaded load(Index i0) const { return {loadVector<4>(pointers.parameters + i0)}; }
    void apply(Index i0, const Loaded &loaded, const Vector<ElementType, 4> &gradient) const {
      Vector<float, 4> updated;
      Vector<ElementType, 4> copies;
      for (int lane = 0; lane < 4; ++lane) {
        updated[lane] = loaded.parameters[lane] * 0.5f + toFloat(gradient[lane]);
        copies[lane] = roundTo<ElementType>(updated[lane]);
        ++pointers.updates[i0 + lane];
      }
      storeVector(pointers.parameters + i0, updated);
      storeVector(pointers.copies + i0, copies);
      // The thread passes the turn, so that the multiplying warpgroups can overtake it.
      HostBlock::current->waitUntil([hasPassed = false]() mutable { return std::exchange(hasPassed, true); });
    }
  };
};

template <class Kernel, class Element>
void runKernel(const Operands<Element> *operands, const TensorMap *maps) {
  Kernel::run(*operands, maps);
}

template <class Element, int stages, int parts = 1>
void checkUpdate(int blocks) {
  using Kernel = GradientUpdate<HostWgmma<Element>, Members<Element, parts>, /*clusterBlocks=*/1, stages>;
  std::mt19937 random(5);
  std::vector<Member<Element>> members;
  members.reserve(kMembers);
  Operands<Element> operands;
  TensorMap maps[2 * parts * kMembers];
  for (int i = 0; i < kMembers; ++i) {
    Member<Element> &member = members.emplace_back(kSizes<parts>[i], parts, random);
    operands.pointers[i] = {member.parameters.begin(), member.copies.begin(), member.updates.begin(),
                            member.fetches.begin()};
    for (int part = 0; part < parts; ++part) {
      maps[2 * (parts * i + part)] = member.lefts[part].map(GradientTile::rowsPerTile);
      maps[2 * (parts * i + part) + 1] = member.rights[part].map(GradientTile::columnsPerTile);
    }
  }
  void *const buffers[] = {&operands, maps};
  runOnHost(runKernel<Kernel, Element>, buffers, blocks, Kernel::threads, Kernel::sharedBytes);
  for (int i = 0; i < kMembers; ++i) {
    SCOPED_TRACE(testing::Message() << "member " << i << " of " << blocks << " blocks with " << stages << " stages");
    members[i].check();
  }
}

TEST(GradientUpdateTest, OneBlockUpdatesAllTiles) { checkUpdate<__nv_bfloat16, 6>(1); }
TEST(GradientUpdateTest, BlocksShareTheTiles) { checkUpdate<__nv_bfloat16, 6>(3); }
TEST(GradientUpdateTest, BlocksMayHaveNoTile) { checkUpdate<__nv_bfloat16, 6>(Members<__nv_bfloat16>::tiles + 1); }
TEST(GradientUpdateTest, FewStages) { checkUpdate<__nv_bfloat16, 2>(1); }
TEST(GradientUpdateTest, TokensInTwoParts) { checkUpdate<__nv_bfloat16, 6, 2>(3); }
TEST(GradientUpdateTest, TwoPartsWithFewStages) { checkUpdate<__nv_bfloat16, 2, 2>(1); }
TEST(GradientUpdateTest, HalfPrecision) { checkUpdate<__half, 6>(3); }

} // namespace
