//===- Recipe.cpp - Programs as bytes that a fuzzer changes ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recipe.h"

#include <algorithm>
#include <random>

namespace cs336::fuzz {
namespace {

/// The changes that `mutate` chooses from.
enum class Change { kInsert, kReplace, kRewire, kHeader, kErase, kSwap, kDuplicate, kCopyRange, kCount };

class Mutator {
public:
  Mutator(Recipe &recipe, uint32_t seed) : recipe(recipe), random(seed) {}

  void apply(Change change) {
    auto &list = recipe.instructions;
    if (list.empty())
      change = Change::kInsert;
    switch (change) {
    case Change::kInsert:
      list.insert(list.begin() + below(list.size() + 1), any());
      return;
    case Change::kReplace:
      list[below(list.size())] = any();
      return;
    case Change::kRewire: {
      auto &instruction = list[below(list.size())];
      instruction[1 + below(instruction.size() - 1)] = byte();
      return;
    }
    case Change::kHeader:
      recipe.header[below(recipe.header.size())] = byte();
      return;
    case Change::kErase:
      list.erase(list.begin() + below(list.size()));
      return;
    case Change::kSwap:
      std::swap(list[below(list.size())], list[below(list.size())]);
      return;
    case Change::kDuplicate: {
      Recipe::Instruction copy = list[below(list.size())];
      list.insert(list.begin() + below(list.size() + 1), copy);
      return;
    }
    case Change::kCopyRange: {
      size_t begin = below(list.size()), length = 1 + below(std::min<size_t>(6, list.size() - begin));
      std::vector<Recipe::Instruction> range(list.begin() + begin, list.begin() + begin + length);
      list.insert(list.begin() + below(list.size() + 1), range.begin(), range.end());
      return;
    }
    case Change::kCount:
      return;
    }
  }

  size_t below(size_t end) { return random() % end; }

private:
  uint8_t byte() { return static_cast<uint8_t>(random() >> 8); }
  Recipe::Instruction any() {
    Recipe::Instruction instruction;
    std::generate(instruction.begin(), instruction.end(), [&] { return byte(); });
    return instruction;
  }

  Recipe &recipe;
  std::mt19937 random;
};

} // namespace

Recipe Recipe::fromBytes(absl::Span<const uint8_t> bytes) {
  Recipe recipe;
  for (size_t begin = 0; begin < bytes.size() && recipe.instructions.size() < kMostInstructions; begin += 8) {
    Instruction piece = {};
    std::copy_n(bytes.begin() + begin, std::min<size_t>(8, bytes.size() - begin), piece.begin());
    if (begin == 0)
      recipe.header = piece;
    else
      recipe.instructions.push_back(piece);
  }
  return recipe;
}

size_t Recipe::write(absl::Span<uint8_t> bytes) const {
  size_t size = std::min(bytes.size() / 8, 1 + instructions.size()) * 8;
  for (size_t begin = 0; begin < size; begin += 8) {
    const Instruction &piece = begin == 0 ? header : instructions[begin / 8 - 1];
    std::copy(piece.begin(), piece.end(), bytes.begin() + begin);
  }
  return size;
}

void Recipe::mutate(uint32_t seed) {
  Mutator mutator(*this, seed);
  for (size_t count = 1 + mutator.below(4); count != 0; --count)
    mutator.apply(static_cast<Change>(mutator.below(static_cast<size_t>(Change::kCount))));
  if (instructions.size() > kMostInstructions)
    instructions.resize(kMostInstructions);
}

void Recipe::crossOver(const Recipe &other, uint32_t seed) {
  std::mt19937 random(seed);
  instructions.resize(random() % (instructions.size() + 1));
  instructions.insert(instructions.end(), other.instructions.begin() + random() % (other.instructions.size() + 1),
                      other.instructions.end());
  if (instructions.size() > kMostInstructions)
    instructions.resize(kMostInstructions);
}

} // namespace cs336::fuzz
