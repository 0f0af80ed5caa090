//===- DescriptionMutator.cpp - Changes of model descriptions -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "config/DescriptionMutator.h"

#include "cs336/Frontend/ModelDescription.h"

#include <limits>

using namespace cs336;
using namespace cs336::fuzz;
using llvm::StringRef;
namespace json = llvm::json;

static std::vector<std::string> listKeys(bool isOptimizer) {
  std::vector<std::string> keys = {"form"};
  if (isOptimizer) {
    for (const OptimizerConfig::RealField &field : OptimizerConfig::getRealFields())
      keys.push_back(field.key.str());
    for (const OptimizerConfig::IntegerField &field : OptimizerConfig::getIntegerFields())
      keys.push_back(field.key.str());
    return keys;
  }
  keys = {"size", "rope_theta", "mode", "dtype", "optimizer"};
  for (const TransformerConfig::IntegerField &field : TransformerConfig::getIntegerFields())
    keys.push_back(field.key.str());
  return keys;
}

std::string DescriptionMutator::makeKey(bool isOptimizer) {
  static const std::vector<std::string> kOptimizerKeys = listKeys(true), kModelKeys = listKeys(false);
  // Rarely a key that belongs elsewhere.
  return pick<std::string>(isOptimizer != isOneIn(32) ? kOptimizerKeys : kModelKeys);
}

json::Value DescriptionMutator::makeNumber(bool isInteger) {
  constexpr int64_t kLimits[] = {std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int64_t>::max(),
                                 -1,
                                 0,
                                 INT32_MAX,
                                 int64_t{INT32_MAX} + 1,
                                 int64_t{1} << 24,
                                 int64_t{1} << 47,
                                 int64_t{1} << 53,
                                 4096,
                                 4097};
  constexpr double kReals[] = {0.0,
                               -0.0,
                               0.5,
                               0.9,
                               0.999999,
                               1.0,
                               1.5,
                               1e-8,
                               1e-3,
                               1e4,
                               -1e-3,
                               1e300,
                               -1e308,
                               5e-324,
                               1e-40,
                               3e38,
                               4e38,
                               1e19,
                               9223372036854775808.0};
  if (isInteger && !isOneIn(16))
    return isOneIn(6) ? pick<int64_t>(kLimits) : static_cast<int64_t>(below(isOneIn(4) ? 300 : 17));
  return pick<double>(kReals);
}

json::Value DescriptionMutator::makeOddValue() {
  switch (below(8)) {
  case 0:
    return nullptr;
  case 1:
    return isOneIn(2);
  case 2:
    return std::numeric_limits<uint64_t>::max();
  case 3:
    return json::Array{1, json::Array{}};
  case 4:
    return json::Object{{"lr", 1}};
  case 5:
    return std::string(below(100), 'a');
  case 6:
    return "\xc3\xa9\xe2\x82\xac{0}\n%s\"\\";
  default:
    return makeNumber(isOneIn(2));
  }
}

json::Value DescriptionMutator::makeValue(StringRef key) {
  if (isOneIn(16))
    return makeOddValue();
  if (key == "size")
    return pick<StringRef>(TransformerConfig::getSizeNames());
  if (key == "mode")
    return pick<StringRef>({"forward", "loss", "forward_backward", "train", "prepare"});
  if (key == "dtype")
    return pick<StringRef>({"f32", "f64", "bf16"});
  if (key == "form")
    return pick<StringRef>({"pytorch", "cs336_2025", "cs336_2026"});
  if (key == "optimizer")
    return json::Object{};
  auto isReal = [&](const auto &field) { return field.key == key; };
  return makeNumber(key != "rope_theta" && llvm::none_of(OptimizerConfig::getRealFields(), isReal));
}

void DescriptionMutator::mutateObject(json::Object &object, bool isOptimizer) {
  if (json::Object *optimizer = object.getObject("optimizer"); optimizer && isOneIn(2))
    return mutateObject(*optimizer, true);
  std::string key = makeKey(isOptimizer);
  if (isOneIn(6) && object.erase(key))
    return;
  object[key] = makeValue(key);
}

void DescriptionMutator::mutate(json::Value &value) {
  json::Object *object = value.getAsObject();
  if (!object || isOneIn(256)) {
    value = isOneIn(8) ? makeOddValue() : json::Value(json::Object{{"size", "tiny"}});
    return;
  }
  for (size_t changes = 1 + below(3); changes != 0; --changes)
    mutateObject(*object, false);
}
