//===- Reduce.h - Reductions over ranks' blocks -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_REDUCE_H
#define CS336_RUNTIME_COMM_REDUCE_H

#include "cs336/runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>

namespace cs336::runtime {

/// Returns INVALID_ARGUMENT if values of `dtype` cannot be reduced.
absl::Status CheckReducible(DType dtype);

/// Reduces `count` elements of the ranks' blocks from element `src_begin` on,
/// in the order of ranks. Writes the result to every block in `dst` from
/// element `dst_begin` on. Reads each element before it writes it, so that
/// blocks of src and dst may be the same if they start at the same element.
void ReduceRange(absl::Span<const void *const> src, int64_t src_begin, absl::Span<void *const> dst, int64_t dst_begin,
                 int64_t count, DType dtype, Reduction reduction);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_REDUCE_H
