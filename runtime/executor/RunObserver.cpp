//===- RunObserver.cpp - Observing a run per command ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/RunObserver.h"

#include "tensor/Elements.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>

namespace cs336::runtime {

namespace {

/// Returns the first invalid element, such as "NaN at [0, 3]"; empty if there
/// is none.
std::string FindBad(const TensorView &value, bool reject_infinities) {
  return VisitElement(value.dtype(), [&](auto tag) -> std::string {
    using T = typename decltype(tag)::Type;
    if constexpr (kIsFloatElement<T>) {
      Dims index(value.rank(), 0);
      int64_t count = value.num_elements();
      for (int64_t i = 0; i != count; ++i) {
        int64_t offset = 0, rest = i;
        for (size_t dim = index.size(); dim-- > 0; rest /= value.shape()[dim]) {
          index[dim] = rest % value.shape()[dim];
          offset += index[dim] * value.strides()[dim];
        }
        double element = static_cast<double>(value.data_as<T>()[offset]);
        if (std::isnan(element) || (reject_infinities && std::isinf(element)))
          return absl::StrCat(std::isnan(element) ? "NaN" : "an infinity", " at [", absl::StrJoin(index, ", "), "]");
      }
    }
    return "";
  });
}

} // namespace

RunObserver::~RunObserver() = default;

absl::Status NanCheck::OnCommandDone(const CommandInfo &command, absl::Duration elapsed,
                                     absl::Span<const WrittenTensor> written) {
  for (const WrittenTensor &tensor : written)
    if (std::string bad = FindBad(tensor.value, reject_infinities_); !bad.empty())
      return absl::OutOfRangeError(absl::StrCat(
          command.phase, ", command ", command.index, ": ", command.kind, " '", command.name, "'",
          command.layer.empty() ? "" : " of ", command.layer, command.location.empty() ? "" : " at ", command.location,
          " is the first to write ", bad, " of '", tensor.name, "' ", ToString(tensor.value.type())));
  return absl::OkStatus();
}

} // namespace cs336::runtime
