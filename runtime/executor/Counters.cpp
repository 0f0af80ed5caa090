//===- Counters.cpp - Variables that count steps --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/Counters.h"

#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <limits>

namespace cs336::runtime {

bool IsCounter(const format::VariableT &variable) {
  format::DType dtype = variable.type->dtype;
  return variable.kind == format::VariableKind::state && (dtype == format::DType::i64 || dtype == format::DType::i32);
}

template <typename T>
static absl::Status CheckElements(absl::string_view name, absl::Span<const T> values) {
  constexpr T kMost = std::numeric_limits<T>::max();
  auto bad = std::find_if(values.begin(), values.end(), [](T value) { return value < 0 || value == kMost; });
  if (bad == values.end())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("variable '", name, "' counts, and cannot be ", *bad, ": it must be in [0, ", kMost, ")"));
}

absl::Status CheckCounter(absl::string_view name, const TensorView &value) {
  CS336_ASSIGN_OR_RETURN(Tensor dense, Tensor::CopyOf(value));
  return dense.dtype() == DType::kI64 ? CheckElements(name, dense.values<int64_t>())
                                      : CheckElements(name, dense.values<int32_t>());
}

} // namespace cs336::runtime
