//===- Initializer.h - Initial values of variables --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_INITIALIZER_INITIALIZER_H
#define CS336_RUNTIME_INITIALIZER_INITIALIZER_H

#include "cs336/runtime/Tensor.h"
#include "cs336/runtime/format/Executable_generated.h"

#include "absl/strings/string_view.h"

#include <cstdint>

namespace cs336::runtime {

/// Fills dense `values`, the elements of a tensor from index `first` on, as
/// `init` specifies. Random values depend only on the seed, the name and the
/// element's index in the tensor. An init of kind none leaves
/// the values as they are.
///
/// truncated_normal inverts the normal distribution: with u uniform in (0, 1),
/// x = std * quantile(cdf(-cut) + u * (cdf(cut) - cdf(-cut))).
void Initialize(const format::InitT &init, uint64_t seed, absl::string_view name, const MutableTensorView &values,
                int64_t first = 0);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_INITIALIZER_INITIALIZER_H
