//===- SelectedParameters.cpp - Parameters that a person selects ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SelectedParameters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace cs336::cuda;

Attribute SelectedParameters::get(StringRef parameter) {
  names.push_back(parameter);
  auto dictionary = dyn_cast_or_null<DictionaryAttr>(selected);
  return dictionary ? dictionary.get(parameter) : Attribute();
}

void SelectedParameters::read(StringRef parameter, int64_t &value) {
  Attribute attribute = get(parameter);
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attribute); integer && integer.getType().isSignlessInteger(64))
    value = integer.getInt();
  else if (attribute)
    fault = (parameter + " must be an integer of 64 bits").str();
}

void SelectedParameters::read(StringRef parameter, bool &value) {
  Attribute attribute = get(parameter);
  if (auto boolean = dyn_cast_or_null<BoolAttr>(attribute))
    value = boolean.getValue();
  else if (attribute)
    fault = (parameter + " must be true or false").str();
}

LogicalResult SelectedParameters::finish(std::string &whyNot) const {
  if (!selected)
    return success();
  if (!fault.empty())
    return fail(fault, whyNot);
  auto dictionary = dyn_cast<DictionaryAttr>(selected);
  if (!dictionary)
    return fail("parameters are a dictionary", whyNot);
  for (NamedAttribute each : dictionary)
    if (!llvm::is_contained(names, each.getName()))
      return fail(each.getName().getValue() + " is not one of its parameters, which are " + llvm::join(names, ", "),
                  whyNot);
  return success();
}

LogicalResult SelectedParameters::fail(const Twine &reason, std::string &whyNot) const {
  llvm::raw_string_ostream os(whyNot);
  os << "selects ";
  if (!name.empty())
    os << "for '" << name << "' ";
  os << selected << ": " << reason;
  return failure();
}
