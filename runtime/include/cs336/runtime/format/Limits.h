//===- Limits.h - Numbers that executables do not exceed --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_LIMITS_H
#define CS336_RUNTIME_FORMAT_LIMITS_H

#include <cstdint>

namespace cs336::format {

/// The streams of an entry. Loading keeps a clock per stream for each event.
inline constexpr uint32_t kMostStreams = 64;
/// The parts of a gathered variable are multiples of this many bytes, so that each one is aligned like a variable.
inline constexpr int64_t kPartAlignment = 256;
/// The distances of ranks' parts in a buffer are multiples of it, so that a part is aligned like storage.
inline constexpr int64_t kPartDistance = 64;

} // namespace cs336::format

#endif // CS336_RUNTIME_FORMAT_LIMITS_H
