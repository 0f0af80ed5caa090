//===- ModelFlags.cpp - Command-line flags that describe a model ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Flags/ModelFlags.h"

#include "cs336/Support/ReadJSON.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace cs336;
namespace cl = llvm::cl;
namespace json = llvm::json;
using llvm::StringRef;

ModelFlags::ModelFlags(cl::OptionCategory &category, cl::SubCommand &subcommand, Keys keys)
    : category(category), subcommand(subcommand) {
  llvm::SmallVector<StringRef> sizes = TransformerConfig::getSizeNames();
  add("size", "size", "named hyper-parameters: " + llvm::join(sizes, ", "), Owner::Model, Kind::Text, sizes);
  for (const TransformerConfig::IntegerField &field : TransformerConfig::getIntegerFields())
    add(field.key, field.key, field.description, Owner::Model, Kind::Integer);
  if (keys == Keys::Sizes)
    return;
  add("rope_theta", "rope_theta", "base of the rotary embedding's wavelengths (default 10000)", Owner::Model,
      Kind::Real);
  add("mode", "mode", "forward, loss, forward_backward or train", Owner::Model, Kind::Text,
      {"forward", "loss", "forward_backward", "train"});
  add("dtype", "build_dtype", "type that the model is built in: f32 or f64 (default f32)", Owner::Model, Kind::Text,
      {"f32", "f64"});

  add("form", "adamw_form", "pytorch (default), cs336_2025 or cs336_2026", Owner::Optimizer, Kind::Text,
      {"pytorch", "cs336_2025", "cs336_2026"});
  for (const OptimizerConfig::RealField &field : OptimizerConfig::getRealFields())
    add(field.key, field.key, field.description, Owner::Optimizer, Kind::Real);
  for (const OptimizerConfig::IntegerField &field : OptimizerConfig::getIntegerFields())
    add(field.key, "lr_" + field.key.str(), field.description, Owner::Optimizer, Kind::Integer);
}

void ModelFlags::add(StringRef key, const llvm::Twine &name, const llvm::Twine &description, Owner owner, Kind kind,
                     llvm::ArrayRef<StringRef> choices) {
  auto keep = [&](const llvm::Twine &text) -> StringRef {
    return *texts.emplace_back(std::make_unique<std::string>(text.str()));
  };
  StringRef underscored = keep(name);
  std::string dashed = underscored.str();
  llvm::replace(dashed, '_', '-');
  StringRef value = choices.empty() ? "number" : keep(llvm::join(choices, "|"));
  auto option = std::make_unique<cl::opt<std::string, /*ExternalStorage=*/false, ValueNameParser>>(
      keep(dashed), cl::desc(keep(description)), cl::value_desc(value), cl::cat(category), cl::sub(subcommand));
  auto addAlias = [&](StringRef spelling) {
    aliases.push_back(std::make_unique<cl::alias>(spelling, cl::desc("as published scripts spell it"), cl::Hidden,
                                                  cl::aliasopt(*option), cl::cat(category)));
  };
  if (underscored.contains('_'))
    addAlias(underscored);
  if (StringRef noun = underscored; noun.consume_front("num_"))
    addAlias(keep("n_" + noun));
  flags.push_back({key.str(), owner, kind, std::move(option)});
}

bool ModelFlags::sets(StringRef key) const {
  return llvm::any_of(flags, [&](const Flag &flag) { return flag.key == key && flag.option->getNumOccurrences() > 0; });
}

llvm::Expected<json::Value> ModelFlags::Flag::parse(StringRef text) const {
  if (kind == Kind::Text)
    return json::Value(json::fixUTF8(text));
  llvm::Expected<json::Value> value = readJSON(text);
  std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
  if (number && std::isfinite(*number) && (kind == Kind::Real || value->getAsInteger()))
    return value;
  if (!value)
    llvm::consumeError(value.takeError());
  return llvm::createStringError(llvm::formatv("--{0} is '{1}', must be {2}", option->ArgStr, text,
                                               kind == Kind::Real ? "a finite number" : "an integer of 64 bits"));
}

llvm::Expected<std::vector<ModelDescription>> ModelFlags::apply(const ModelDescription &base) const {
  // Other flags override fields of a named size, so its flag is first in `flags`.
  std::vector<ModelDescription> descriptions{base};
  for (const Flag &flag : flags) {
    if (flag.option->getNumOccurrences() == 0)
      continue;
    llvm::SmallVector<StringRef> values;
    StringRef(flag.option->getValue()).split(values, ',');
    for (StringRef &value : values)
      value = value.trim();
    for (StringRef value : values)
      if (llvm::count(values, value) > 1)
        return llvm::createStringError(llvm::formatv("--{0} names '{1}' twice", flag.option->ArgStr, value));
    std::vector<ModelDescription> combined;
    for (const ModelDescription &description : descriptions) {
      for (StringRef value : values) {
        ModelDescription &next = combined.emplace_back(description);
        llvm::Expected<json::Value> parsed = flag.parse(value);
        if (!parsed)
          return parsed.takeError();
        if (llvm::Error error = flag.owner == Owner::Optimizer ? next.optimizer.set(flag.key, *parsed)
                                                               : next.update(json::Object{{flag.key, *parsed}}))
          return error;
      }
    }
    descriptions = std::move(combined);
  }
  bool trains = llvm::any_of(descriptions, [](const ModelDescription &each) { return each.mode == Mode::Train; });
  for (const Flag &flag : flags)
    if (!trains && flag.owner == Owner::Optimizer && flag.option->getNumOccurrences() > 0)
      return llvm::createStringError(
          llvm::formatv("--{0} has no effect: only --mode train has an optimizer", flag.option->ArgStr));
  return descriptions;
}

llvm::Expected<ModelDescription> ModelFlags::applyOne(const ModelDescription &base) const {
  for (const Flag &flag : flags)
    if (flag.option->getValue().find(',') != std::string::npos)
      return llvm::createStringError(
          llvm::formatv("--{0} takes one value here, is '{1}'", flag.option->ArgStr, flag.option->getValue()));
  llvm::Expected<std::vector<ModelDescription>> descriptions = apply(base);
  if (!descriptions)
    return descriptions.takeError();
  return descriptions->front();
}
