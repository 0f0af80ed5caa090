//===- UnknownValue.cpp - Errors for values of no known name --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/UnknownValue.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

std::string cs336::listAlternatives(llvm::ArrayRef<llvm::StringRef> names) {
  if (names.size() < 2)
    return names.empty() ? "" : names.front().str();
  return llvm::join(names.drop_back(), ", ") + " or " + names.back().str();
}

std::string cs336::describeUnknown(llvm::StringRef what, llvm::StringRef value, llvm::ArrayRef<llvm::StringRef> known) {
  return ("unknown " + what + " '" + value + "': expected " + listAlternatives(known)).str();
}

std::string cs336::describeUnknownOfMany(llvm::StringRef what, llvm::StringRef value,
                                         llvm::ArrayRef<llvm::StringRef> known, llvm::StringRef where) {
  constexpr size_t kMostSuggestions = 5;
  llvm::SmallVector<llvm::StringRef> nearest(known);
  llvm::stable_sort(
      nearest, [&](llvm::StringRef a, llvm::StringRef b) { return a.edit_distance(value) < b.edit_distance(value); });
  nearest.truncate(std::min(nearest.size(), kMostSuggestions));
  std::string message = describeUnknown(what, value, nearest);
  if (size_t others = known.size() - nearest.size(); others > 0)
    message += (", or one of " + llvm::Twine(others) + " others: " + where + " lists them").str();
  return message;
}
