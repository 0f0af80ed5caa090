//===- PackedName.cpp - A name for what several names stand for -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

using Components = SmallVector<StringRef>;

/// Returns the number of leading elements that all sequences share, such that at least `keep` elements of each remain.
template <typename Sequence>
static size_t countCommon(ArrayRef<Sequence> sequences, size_t keep, bool fromBack) {
  size_t limit = sequences.front().size();
  for (const Sequence &sequence : sequences)
    limit = std::min<size_t>(limit, sequence.size());
  limit -= std::min(limit, keep);
  size_t count = 0;
  auto at = [&](const Sequence &sequence) {
    return fromBack ? sequence[sequence.size() - 1 - count] : sequence[count];
  };
  while (count < limit &&
         llvm::all_of(sequences, [&](const Sequence &sequence) { return at(sequence) == at(sequences.front()); }))
    ++count;
  return count;
}

/// Joins the different parts of one component: q_proj, k_proj → qk_proj.
static std::string joinComponent(ArrayRef<std::string> parts) {
  size_t prefix = countCommon(parts, /*keep=*/1, /*fromBack=*/false);
  SmallVector<std::string> rests;
  for (const std::string &part : parts)
    rests.push_back(part.substr(prefix));
  size_t suffix = countCommon(ArrayRef<std::string>(rests), /*keep=*/1, /*fromBack=*/true);
  for (std::string &rest : rests)
    rest.resize(rest.size() - suffix);
  // Single characters stay legible if they are joined; words and parts of words do not.
  if (llvm::all_of(rests, [](const std::string &rest) { return rest.size() == 1; }))
    return parts.front().substr(0, prefix) + llvm::join(rests, "") +
           parts.front().substr(parts.front().size() - suffix);
  return llvm::join(parts, "_");
}

std::string cs336::getPackedName(ArrayRef<StringRef> names) {
  SmallVector<Components> split;
  for (StringRef name : names)
    name.split(split.emplace_back(), '.');
  size_t prefix = countCommon(ArrayRef<Components>(split), /*keep=*/1, /*fromBack=*/false);
  for (Components &components : split)
    components.erase(components.begin(), components.begin() + prefix);
  size_t suffix = countCommon(ArrayRef<Components>(split), /*keep=*/1, /*fromBack=*/true);

  SmallVector<std::string> parts;
  for (const Components &components : split)
    parts.push_back(llvm::join(ArrayRef(components).drop_back(suffix), "_"));

  Components first;
  names.front().split(first, '.');
  SmallVector<std::string> packed;
  for (StringRef component : ArrayRef(first).take_front(prefix))
    packed.push_back(component.str());
  packed.push_back(joinComponent(parts));
  for (StringRef component : ArrayRef(first).take_back(suffix))
    packed.push_back(component.str());
  return llvm::join(packed, ".");
}
