//===- LayerPath.cpp - Layers in paths of values --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/LayerPath.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace cs336;
using llvm::StringRef;

static bool isNumber(StringRef component) { return !component.empty() && llvm::all_of(component, llvm::isDigit); }

StringRef cs336::getLayer(StringRef path) {
  for (size_t begin = 0; begin < path.size();) {
    size_t end = std::min(path.find('.', begin), path.size());
    StringRef component = path.slice(begin, end);
    if (isNumber(component))
      return path.take_front(end);
    begin = end + 1;
  }
  return {};
}

StringRef cs336::getLayerOrPath(StringRef path) {
  StringRef layer = getLayer(path);
  return layer.empty() ? path : layer;
}

std::string cs336::mergeLayers(StringRef path) {
  return llvm::join(llvm::map_range(llvm::split(path, '.'), [](StringRef part) { return isNumber(part) ? "*" : part; }),
                    ".");
}
