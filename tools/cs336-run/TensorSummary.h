//===- TensorSummary.h - A tensor in one line -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_RUN_TENSORSUMMARY_H
#define CS336_TOOLS_RUN_TENSORSUMMARY_H

#include "cs336/runtime/Tensor.h"

#include <string>

namespace cs336 {

/// "f32[] = 4.5747", or "f32[3, 97] min -2.1 max 1.9 mean 0.01, 2 NaN; first 0.5 -0.25 …". The statistics leave NaN
/// out. RESOURCE_EXHAUSTED without memory for a copy of the tensor.
absl::StatusOr<std::string> summarize(const runtime::TensorView &tensor);

} // namespace cs336

#endif // CS336_TOOLS_RUN_TENSORSUMMARY_H
