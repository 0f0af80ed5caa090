//===- DescriptionMutator.h - Changes of model descriptions -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_CONFIG_DESCRIPTIONMUTATOR_H
#define CS336_TEST_FUZZ_CONFIG_DESCRIPTIONMUTATOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"

#include <random>
#include <string>
#include <vector>

namespace cs336::fuzz {

/// Changes one key or value of a description: mostly to values that its key accepts, so that the stages after the
/// reader are reached, and otherwise to limits of their types and to values of other types.
class DescriptionMutator {
public:
  explicit DescriptionMutator(unsigned seed) : random(seed) {}

  void mutate(llvm::json::Value &value);
  bool isOneIn(size_t bound) { return below(bound) == 0; }

private:
  size_t below(size_t bound) { return random() % bound; }
  template <typename T>
  T pick(llvm::ArrayRef<T> choices) {
    return choices[below(choices.size())];
  }

  void mutateObject(llvm::json::Object &object, bool isOptimizer);
  std::string makeKey(bool isOptimizer);
  llvm::json::Value makeValue(llvm::StringRef key);
  llvm::json::Value makeNumber(bool isInteger);
  llvm::json::Value makeOddValue();

  std::minstd_rand random;
};

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_CONFIG_DESCRIPTIONMUTATOR_H
