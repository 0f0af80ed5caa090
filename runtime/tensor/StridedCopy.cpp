//===- StridedCopy.cpp - Copies between strided layouts -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tensor/StridedCopy.h"

#include <algorithm>
#include <cstring>

namespace cs336::runtime {

namespace {
template <typename T>
void CopyRun(const char *src, int64_t src_stride, char *dst, int64_t dst_stride, int64_t count) {
  for (int64_t i = 0; i != count; ++i)
    std::memcpy(dst + i * dst_stride, src + i * src_stride, sizeof(T));
}
} // namespace

StridedCopy::StridedCopy(const Dims &shape, const Dims &src_strides, const Dims &dst_strides, int64_t element_size)
    : element_size_(element_size) {
  // Writing in the order of addresses is cheapest. Dimensions of equal strides
  // keep their order. Insertion sort allocates nothing, unlike
  // std::stable_sort.
  absl::InlinedVector<Dim, 6> dims;
  for (size_t i = 0; i != shape.size(); ++i) {
    if (shape[i] == 1)
      continue;
    Dim dim = {shape[i], src_strides[i] * element_size, dst_strides[i] * element_size};
    auto place = std::find_if(dims.begin(), dims.end(), [&](const Dim &other) { return other.dst < dim.dst; });
    dims.insert(place, dim);
  }
  // Merges a dimension with the next one if they are contiguous.
  absl::InlinedVector<Dim, 6> merged;
  for (const Dim &dim : dims) {
    if (!merged.empty() && merged.back().src == dim.src * dim.size && merged.back().dst == dim.dst * dim.size) {
      merged.back() = {merged.back().size * dim.size, dim.src, dim.dst};
      continue;
    }
    merged.push_back(dim);
  }
  if (merged.empty())
    merged.push_back({1, element_size, element_size});
  inner_ = merged.back();
  merged.pop_back();
  outer_ = std::move(merged);
  for (const Dim &dim : outer_)
    runs_ *= dim.size;
  if (inner_.size == 0)
    runs_ = 0;
}

int64_t StridedCopy::bytes_per_run() const { return inner_.size * element_size_; }

void StridedCopy::Run(const void *src, void *dst, int64_t begin, int64_t end) const {
  bool contiguous = inner_.src == element_size_ && inner_.dst == element_size_;
  for (int64_t run = begin; run < end; ++run) {
    const char *from = static_cast<const char *>(src);
    char *to = static_cast<char *>(dst);
    int64_t rest = run;
    for (size_t i = outer_.size(); i-- > 0; rest /= outer_[i].size) {
      from += rest % outer_[i].size * outer_[i].src;
      to += rest % outer_[i].size * outer_[i].dst;
    }
    if (contiguous)
      std::memmove(to, from, inner_.size * element_size_);
    else if (element_size_ == 4)
      CopyRun<uint32_t>(from, inner_.src, to, inner_.dst, inner_.size);
    else if (element_size_ == 8)
      CopyRun<uint64_t>(from, inner_.src, to, inner_.dst, inner_.size);
    else if (element_size_ == 2)
      CopyRun<uint16_t>(from, inner_.src, to, inner_.dst, inner_.size);
    else
      CopyRun<uint8_t>(from, inner_.src, to, inner_.dst, inner_.size);
  }
}

} // namespace cs336::runtime
