//===- ScheduleSelection.cpp - Selected schedules as attributes -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleSelection.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

static constexpr llvm::StringLiteral schedulesAttr = "exec.schedules", nameKey = "schedule";

FailureOr<ScheduleSelection> cs336::cuda::readParts(ArrayAttr parts) {
  ScheduleSelection selection;
  for (Attribute part : parts) {
    auto fields = dyn_cast<DictionaryAttr>(part);
    auto name = fields ? fields.getAs<StringAttr>(nameKey) : StringAttr();
    if (!name)
      return failure();
    NamedAttrList parameters(fields);
    parameters.erase(nameKey);
    selection.push_back(
        {name.getValue().str(), parameters.empty() ? DictionaryAttr() : parameters.getDictionary(parts.getContext())});
  }
  if (selection.empty())
    return failure();
  return selection;
}

FailureOr<std::optional<ScheduleSelection>> cs336::cuda::readSelection(exec::KernelOp kernel,
                                                                       const TargetDescription &target) {
  Attribute attribute = kernel->getAttr(schedulesAttr);
  if (!attribute)
    return std::optional<ScheduleSelection>();
  auto fail = [&](Attribute wrong) {
    return emitError(kernel.getLoc()) << "kernel '" << kernel.getSymName() << "' has '" << schedulesAttr << "' "
                                      << wrong << ", which is not of the form {sm_80 = [{schedule = \"rows\"}]}: run "
                                      << "--cuda-select-schedules for an example";
  };
  auto targets = dyn_cast<DictionaryAttr>(attribute);
  if (!targets)
    return fail(attribute);
  for (NamedAttribute each : targets)
    if (StringRef name = each.getName(); name != portableTarget.name && !isArchitectureName(name))
      return emitError(kernel.getLoc()) << "kernel '" << kernel.getSymName() << "' has '" << schedulesAttr << "' for '"
                                        << name << "', which is not an architecture: names are as in sm_80 and sm_90a";
  Attribute selected = targets.get(target.name);
  if (!selected)
    return std::optional<ScheduleSelection>();
  auto parts = dyn_cast<ArrayAttr>(selected);
  FailureOr<ScheduleSelection> selection = failure();
  if (parts)
    selection = readParts(parts);
  if (failed(selection))
    return fail(selected);
  return std::optional<ScheduleSelection>(*std::move(selection));
}

void cs336::cuda::writeSelection(exec::KernelOp kernel, const TargetDescription &target,
                                 const ScheduleSelection &selection) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> parts;
  for (const SelectedSchedule &part : selection) {
    NamedAttrList fields(part.parameters);
    fields.set(nameKey, builder.getStringAttr(part.name));
    parts.push_back(fields.getDictionary(kernel.getContext()));
  }
  NamedAttrList targets(kernel->getAttrOfType<DictionaryAttr>(schedulesAttr));
  targets.set(target.name, builder.getArrayAttr(parts));
  kernel->setAttr(schedulesAttr, targets.getDictionary(kernel.getContext()));
}
