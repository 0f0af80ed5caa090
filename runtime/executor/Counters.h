//===- Counters.h - Variables that count steps ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_EXECUTOR_COUNTERS_H
#define CS336_RUNTIME_EXECUTOR_COUNTERS_H

#include "cs336/runtime/Tensor.h"
#include "cs336/runtime/format/Executable_generated.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace cs336::runtime {

/// Returns true if a variable counts, as "adamw.step" does: state of integers.
bool IsCounter(const format::VariableT &variable);

/// Returns INVALID_ARGUMENT, with the variable's name and the value, if an
/// element is negative or too large to count on from: AdamW's bias corrections
/// would silently be wrong. `value` is a host tensor of i64 or i32 in any
/// layout.
absl::Status CheckCounter(absl::string_view name, const TensorView &value);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_COUNTERS_H
