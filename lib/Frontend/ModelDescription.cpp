//===- ModelDescription.cpp - What to build, from JSON or flags -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Frontend/ModelDescription.h"

#include "cs336/Support/ReadJSON.h"
#include "cs336/Support/UnknownValue.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace cs336;
using llvm::createStringError;
using llvm::Error;
using llvm::formatv;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// One value
//===----------------------------------------------------------------------===//

static Error wrongType(StringRef key, StringRef wanted, const json::Value &value) {
  return createStringError(formatv("'{0}' must be {1}, is {2}", key, wanted, value));
}

static Error read(StringRef key, const json::Value &value, int64_t &result) {
  std::optional<int64_t> integer = value.getAsInteger();
  if (!integer)
    return wrongType(key, "an integer of 64 bits", value);
  result = *integer;
  return Error::success();
}

static Error read(StringRef key, const json::Value &value, double &result) {
  std::optional<double> number = value.getAsNumber();
  if (!number || !std::isfinite(*number))
    return wrongType(key, "a finite number", value);
  result = *number;
  return Error::success();
}

/// Parses one of `choices`, which are pairs of spelling and value.
template <typename T>
static Error read(StringRef key, const json::Value &value, ArrayRef<std::pair<StringRef, T>> choices, T &result) {
  std::optional<StringRef> text = value.getAsString();
  for (const auto &[name, choice] : choices) {
    if (text == name) {
      result = choice;
      return Error::success();
    }
  }
  auto names = llvm::map_to_vector(choices, [](const auto &choice) { return choice.first; });
  if (text)
    return createStringError(describeUnknown(key, *text, names));
  return wrongType(key, listAlternatives(names), value);
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

ArrayRef<OptimizerConfig::RealField> OptimizerConfig::getRealFields() {
  static constexpr RealField kFields[] = {
      {"lr", &OptimizerConfig::lr, "learning rate (default 1e-3)"},
      {"beta1", &OptimizerConfig::beta1, "decay of the first moment (default 0.9)"},
      {"beta2", &OptimizerConfig::beta2, "decay of the second moment (default 0.999)"},
      {"eps", &OptimizerConfig::eps, "added to the root of the second moment (default 1e-8)"},
      {"weight_decay", &OptimizerConfig::weightDecay, "decoupled weight decay (default 0.01)"},
      {"max_norm", &OptimizerConfig::maxNorm, "clip all gradients to this norm; 0 does not (default 0)"},
      {"min_lr", &OptimizerConfig::minLr, "learning rate after the cosine (default 0)"},
  };
  return kFields;
}

ArrayRef<OptimizerConfig::IntegerField> OptimizerConfig::getIntegerFields() {
  static constexpr IntegerField kFields[] = {
      {"warmup_steps", &OptimizerConfig::warmupSteps, "steps of linear warm-up (default 0)"},
      {"cosine_steps", &OptimizerConfig::cosineSteps, "step at which the cosine ends; 0 keeps lr (default 0)"},
  };
  return kFields;
}

Error OptimizerConfig::set(StringRef key, const json::Value &value) {
  std::string path = ("optimizer." + key).str();
  for (const RealField &field : getRealFields())
    if (field.key == key)
      return read(path, value, this->*field.member);
  for (const IntegerField &field : getIntegerFields())
    if (field.key == key)
      return read(path, value, this->*field.member);
  if (key == "form")
    return read<AdamWForm>(path, value,
                           {{"pytorch", AdamWForm::PyTorch},
                            {"cs336_2025", AdamWForm::CS336Spring2025},
                            {"cs336_2026", AdamWForm::CS336Spring2026}},
                           form);
  SmallVector<StringRef> keys{"form"};
  llvm::append_range(keys, llvm::map_range(getRealFields(), [](const RealField &field) { return field.key; }));
  llvm::append_range(keys, llvm::map_range(getIntegerFields(), [](const IntegerField &field) { return field.key; }));
  return createStringError(describeUnknown("key", path, keys));
}

OptimizerAttr OptimizerConfig::getAttr(function_ref<InFlightDiagnostic()> emitError, MLIRContext *context) const {
  return OptimizerAttr::getChecked(emitError, context, form, Real(lr), Real(beta1), Real(beta2), Real(eps),
                                   Real(weightDecay), Real(maxNorm), warmupSteps, cosineSteps, Real(minLr));
}

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

Error ModelDescription::update(const json::Object &object) {
  // The size is read first, whatever the order of keys: other keys override its fields.
  if (const json::Value *size = object.get("size")) {
    std::optional<StringRef> name = size->getAsString();
    if (!name)
      return wrongType("size", "a string", *size);
    if (Error error = transformer.setSize(*name))
      return error;
  }

  auto updateOne = [&](StringRef key, const json::Value &value) -> Error {
    for (const TransformerConfig::IntegerField &field : TransformerConfig::getIntegerFields())
      if (field.key == key)
        return read(key, value, transformer.*field.member);
    if (key == "size")
      return Error::success();
    if (key == "rope_theta")
      return read(key, value, transformer.ropeTheta);
    if (key == "mode")
      return read<Mode>(key, value,
                        {{"forward", Mode::Forward},
                         {"loss", Mode::Loss},
                         {"forward_backward", Mode::ForwardBackward},
                         {"train", Mode::Train}},
                        mode);
    if (key == "dtype")
      return read<BuildType>(key, value, {{"f32", BuildType::F32}, {"f64", BuildType::F64}}, dtype);
    if (key == "optimizer") {
      const json::Object *fields = value.getAsObject();
      if (!fields)
        return wrongType(key, "an object", value);
      for (const json::Object::value_type &field : *fields)
        if (Error error = optimizer.set(field.first, field.second))
          return error;
      return Error::success();
    }
    SmallVector<StringRef> known{"size"};
    llvm::append_range(known, llvm::map_range(TransformerConfig::getIntegerFields(),
                                              [](const TransformerConfig::IntegerField &field) { return field.key; }));
    llvm::append_range(known, ArrayRef<StringRef>{"rope_theta", "mode", "dtype", "optimizer"});
    return createStringError(describeUnknown("key", key, known));
  };

  SmallVector<StringRef> keys =
      llvm::map_to_vector(object, [](const json::Object::value_type &entry) -> StringRef { return entry.first; });
  llvm::sort(keys);
  for (StringRef key : keys)
    if (Error error = updateOne(key, *object.get(key)))
      return error;
  return Error::success();
}

llvm::Expected<ModelDescription> ModelDescription::fromJSON(StringRef text) {
  llvm::Expected<json::Value> value = readJSON(text);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object)
    return createStringError("a model description must be a JSON object");
  ModelDescription description;
  if (Error error = description.update(*object))
    return error;
  return description;
}
