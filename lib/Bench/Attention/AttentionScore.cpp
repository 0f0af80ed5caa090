//===- AttentionScore.cpp - Score functions of attention ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionScore.h"

#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include "absl/strings/str_cat.h"

#include <cmath>

using namespace cs336;
using namespace cs336::bench;
using Number = ScoreForm::Number;

/// Returns nullopt if the text is not a number of this kind.
static std::optional<double> parseNumber(llvm::StringRef text, Number kind) {
  if (kind == Number::Real) {
    double number = 0;
    bool isReal = !text.getAsDouble(number) && number > 0 && std::isfinite(number);
    return isReal ? std::optional(number) : std::nullopt;
  }
  constexpr int64_t kMost = int64_t(1) << 24;
  int64_t number = 0;
  bool isInteger = !text.getAsInteger(10, number) && number >= 1 && number <= kMost;
  return isInteger ? std::optional(static_cast<double>(number)) : std::nullopt;
}

absl::StatusOr<AttentionScore> bench::parseScore(llvm::StringRef text) {
  llvm::StringRef name = text.split(':').first;
  const auto *found = llvm::find_if(getScoreForms(), [&](const ScoreForm *form) { return form->getName() == name; });
  if (found == getScoreForms().end()) {
    auto usages = llvm::map_to_vector(getScoreForms(), [](const ScoreForm *form) { return form->getUsage(); });
    return absl::InvalidArgumentError(
        describeUnknown("--score", text, llvm::SmallVector<llvm::StringRef>(usages.begin(), usages.end())));
  }
  const ScoreForm &form = **found;
  auto reject = [&](llvm::StringRef expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("--score has '", text.str(), "': expected ", form.getUsage(), expected.str()));
  };
  if (form.getNumberKind() == Number::None)
    return text == name ? absl::StatusOr<AttentionScore>({&form, 0, text.str()}) : reject(" without a number");
  if (std::optional<double> number = parseNumber(text.split(':').second, form.getNumberKind()))
    return AttentionScore{&form, *number, text.str()};
  return reject(form.getNumberKind() == Number::Integer ? " with an integer N from 1 to 16777216"
                                                        : " with a positive number X");
}
