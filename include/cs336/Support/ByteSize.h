//===- ByteSize.h - Sizes of memory as people write them --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_BYTESIZE_H
#define CS336_SUPPORT_BYTESIZE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cs336 {

/// "40GiB", "1.5 GB", "1000000": bytes; MB is 10^6, MiB 2^20. Returns nullopt if it is not a size of at
/// least one byte.
std::optional<int64_t> parseBytes(llvm::StringRef text);

/// Returns the size as a value of flags, with at most three digits after the point: "30.4GiB". parseBytes reads it as
/// `bytes`, or as up to 0.1 % less if `bytes` is not such a number.
std::string formatFlagBytes(int64_t bytes);

/// "139.8 GiB", "12.0 MiB".
std::string formatBytes(uint64_t bytes);

} // namespace cs336

#endif // CS336_SUPPORT_BYTESIZE_H
