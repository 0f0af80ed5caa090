//===- Layout.cpp - The layout of elements in memory ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/Layout.h"

#include "cs336/runtime/Executable.h"
#include "format/Verifier.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

/// Returns ExtentBytes(), or nullopt if it does not fit into an int64.
std::optional<int64_t> CheckedExtentBytes(const Layout &layout) {
  int64_t last = 0, bytes;
  for (size_t i = 0; i != layout.shape.size(); ++i) {
    int64_t step;
    if (__builtin_mul_overflow(layout.shape[i] - 1, layout.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, ByteSize(ToDType(layout.dtype)), &bytes))
    return std::nullopt;
  return bytes;
}

} // namespace

absl::Status VerifyLayout(const Layout &layout) {
  format::TensorTypeT type;
  type.dtype = layout.dtype;
  type.shape.assign(layout.shape.begin(), layout.shape.end());
  CS336_RETURN_IF_ERROR(VerifyType(type));
  if (layout.strides.size() != layout.shape.size())
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", layout.shape.size(), " sizes and ", layout.strides.size(), " strides"));
  for (int64_t stride : layout.strides)
    if (stride < 0)
      return absl::InvalidArgumentError(absl::StrCat("stride ", stride, " is negative"));
  if (!CheckedExtentBytes(layout))
    return absl::InvalidArgumentError(absl::StrCat("the extent of ", ToString(layout), " overflows"));
  return absl::OkStatus();
}

std::string ToString(const Layout &layout) {
  return absl::StrCat(Name(ToDType(layout.dtype)), "[", absl::StrJoin(layout.shape, ", "), "] with strides [",
                      absl::StrJoin(layout.strides, ", "), "]");
}

int64_t NumElements(const Layout &layout) {
  int64_t count = 1;
  for (int64_t size : layout.shape)
    count *= size;
  return count;
}

int64_t ExtentBytes(const Layout &layout) { return *CheckedExtentBytes(layout); }

bool IsDense(const Layout &layout) {
  int64_t expected = 1;
  for (size_t i = layout.shape.size(); i-- > 0;) {
    if (layout.shape[i] != 1 && layout.strides[i] != expected)
      return false;
    expected *= layout.shape[i];
  }
  return true;
}

bool HasDistinctElements(const Layout &layout) {
  std::vector<std::pair<int64_t, int64_t>> dims; // Stride, size.
  for (size_t i = 0; i != layout.shape.size(); ++i)
    if (layout.shape[i] != 1)
      dims.push_back({layout.strides[i], layout.shape[i]});
  std::sort(dims.begin(), dims.end());
  int64_t extent = 1; // Elements up to the end of the dimensions so far.
  for (auto [stride, size] : dims) {
    if (stride < extent)
      return false;
    extent += stride * (size - 1);
  }
  return true;
}

} // namespace cs336::runtime
