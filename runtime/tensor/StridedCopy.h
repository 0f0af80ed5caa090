//===- StridedCopy.h - Copies between strided layouts -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TENSOR_STRIDEDCOPY_H
#define CS336_RUNTIME_TENSOR_STRIDEDCOPY_H

#include "cs336/runtime/DType.h"

#include "absl/container/inlined_vector.h"

#include <cstdint>

namespace cs336::runtime {

/// A plan to copy one shape between two layouts, in as few and as long runs as
/// the layouts allow. Created once and used often.
class StridedCopy {
public:
  /// Strides are in elements of `element_size` bytes.
  StridedCopy(const Dims &shape, const Dims &src_strides, const Dims &dst_strides, int64_t element_size);

  /// Returns the number of independent runs of the copy.
  int64_t runs() const { return runs_; }
  int64_t bytes_per_run() const;

  /// Copies runs [begin, end).
  void Run(const void *src, void *dst, int64_t begin, int64_t end) const;

private:
  struct Dim {
    int64_t size;
    int64_t src; // Strides in bytes.
    int64_t dst;
  };
  absl::InlinedVector<Dim, 6> outer_; // Slowest first.
  Dim inner_;
  int64_t element_size_;
  int64_t runs_ = 1;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSOR_STRIDEDCOPY_H
