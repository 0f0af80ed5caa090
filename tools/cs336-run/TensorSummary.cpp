//===- TensorSummary.cpp - A tensor in one line ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorSummary.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace cs336;
using namespace cs336::runtime;

/// The number of elements in a summary.
static constexpr size_t kShown = 6;

absl::StatusOr<std::string> cs336::summarize(const TensorView &tensor) {
  std::string text = ToString(tensor.type());
  // Float64 holds every value that is printed here.
  absl::StatusOr<Tensor> wide = Cast(tensor, DType::kF64);
  if (!wide.ok())
    return wide.status();
  absl::Span<const double> values = wide->values<double>();
  if (tensor.rank() == 0)
    return absl::StrFormat("%s = %.9g", text, values[0]);

  double min = std::numeric_limits<double>::infinity(), max = -min, sum = 0;
  int64_t numbers = 0;
  for (double value : values) {
    if (std::isnan(value))
      continue;
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value;
    ++numbers;
  }
  if (numbers > 0)
    absl::StrAppendFormat(&text, " min %.6g max %.6g mean %.6g", min, max, sum / static_cast<double>(numbers));
  if (size_t nans = values.size() - numbers)
    absl::StrAppend(&text, ", ", nans, " NaN");
  text += "; first";
  for (double value : values.first(std::min(values.size(), kShown)))
    absl::StrAppendFormat(&text, " %.6g", value);
  return values.size() > kShown ? text + " …" : text;
}
