//===- TunedSchedules.cpp - Schedules that were fastest -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/TunedSchedules.h"

#include "ScheduleSelection.h"
#include "cs336/Support/ReadJSON.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;
namespace json = llvm::json;

static constexpr int64_t fileFormat = 1;

/// Returns null for a value that no parameter of a schedule has.
static Attribute toAttribute(const json::Value &value, Builder &builder) {
  if (std::optional<bool> flag = value.getAsBoolean())
    return builder.getBoolAttr(*flag);
  if (std::optional<int64_t> number = value.getAsInteger())
    return builder.getI64IntegerAttr(*number);
  if (std::optional<StringRef> text = value.getAsString())
    return builder.getStringAttr(*text);
  const json::Object *object = value.getAsObject();
  if (!object)
    return {};
  NamedAttrList fields;
  for (const auto &[name, field] : *object) {
    Attribute attribute = name.str().empty() ? Attribute() : toAttribute(field, builder);
    if (!attribute)
      return {};
    fields.set(StringRef(name), attribute);
  }
  return fields.getDictionary(builder.getContext());
}

static json::Value toJSON(Attribute attribute) {
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return number.getInt();
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue();
  json::Object object;
  for (NamedAttribute field : cast<DictionaryAttr>(attribute))
    object[field.getName().getValue()] = toJSON(field.getValue());
  return object;
}

/// Returns nullopt if the value is not a list of schedules with their parameters.
static std::optional<ScheduleSelection> parseSelection(const json::Array *parts, Builder &builder) {
  if (!parts)
    return std::nullopt;
  SmallVector<Attribute> attributes;
  for (const json::Value &part : *parts) {
    attributes.push_back(toAttribute(part, builder));
    if (!attributes.back())
      return std::nullopt;
  }
  FailureOr<ScheduleSelection> selection = readParts(builder.getArrayAttr(attributes));
  return succeeded(selection) ? std::optional(*selection) : std::nullopt;
}

llvm::Expected<TunedSchedules> TunedSchedules::parse(StringRef text, MLIRContext *context) {
  llvm::Expected<json::Value> value = readJSON(text);
  if (!value)
    return value.takeError();
  const json::Object *file = value->getAsObject();
  std::optional<StringRef> device = file ? file->getString("device") : std::nullopt,
                           architecture = file ? file->getString("architecture") : std::nullopt;
  const json::Object *problems = file ? file->getObject("problems") : nullptr;
  if (!device || !architecture || !problems || file->getInteger("format") != fileFormat)
    return llvm::createStringError("is not a file of tuned schedules in format " + Twine(fileFormat));
  Builder builder(context);
  TunedSchedules tuned(device->str(), architecture->str());
  for (const auto &[problem, entry] : *problems) {
    const json::Object *fields = entry.getAsObject();
    std::optional<ScheduleSelection> selection =
        parseSelection(fields ? fields->getArray("schedules") : nullptr, builder);
    std::optional<double> microseconds = fields ? fields->getNumber("microseconds") : std::nullopt,
                          byDefault = fields ? fields->getNumber("default_microseconds") : std::nullopt;
    std::optional<StringRef> kernels = fields ? fields->getString("kernels") : std::nullopt;
    if (!selection || !microseconds || !byDefault || !kernels)
      return llvm::createStringError(llvm::formatv("the problem '{0}' requires 'schedules', such as [{{\"schedule\": "
                                                   "\"attention\"}], 'microseconds', 'default_microseconds' and "
                                                   "'kernels'",
                                                   StringRef(problem)));
    tuned.set(problem, {*std::move(selection), *microseconds, *byDefault, kernels->str()});
  }
  return tuned;
}

std::string TunedSchedules::print() const {
  json::Object problems;
  for (const auto &[problem, schedule] : schedules) {
    json::Array parts;
    for (const SelectedSchedule &part : schedule.selection) {
      json::Object fields;
      for (NamedAttribute parameter : part.parameters ? part.parameters.getValue() : ArrayRef<NamedAttribute>())
        fields[parameter.getName().getValue()] = toJSON(parameter.getValue());
      fields["schedule"] = part.name;
      parts.push_back(std::move(fields));
    }
    problems[problem] = json::Object{{"schedules", std::move(parts)},
                                     {"microseconds", schedule.microseconds},
                                     {"default_microseconds", schedule.defaultMicroseconds},
                                     {"kernels", schedule.kernels}};
  }
  json::Value file = json::Object{
      {"format", fileFormat}, {"device", device}, {"architecture", architecture}, {"problems", std::move(problems)}};
  return llvm::formatv("{0:2}\n", file);
}

const TunedSchedule *TunedSchedules::find(StringRef problem) const {
  auto found = schedules.find(problem);
  return found == schedules.end() ? nullptr : &found->second;
}

void TunedSchedules::set(StringRef problem, TunedSchedule schedule) {
  schedules.insert_or_assign(problem.str(), std::move(schedule));
}
