//===- CollectiveParts.h - Collectives that write parts ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_COLLECTIVEPARTS_H
#define CS336_RUNTIME_FORMAT_COLLECTIVEPARTS_H

#include "cs336/runtime/format/Executable_generated.h"

namespace cs336::runtime {

/// Returns true if a collective of this kind copies without reducing, and writes a part from each rank.
inline bool WritesParts(format::CollectiveKind kind) {
  return kind == format::CollectiveKind::all_gather || kind == format::CollectiveKind::all_to_all;
}

} // namespace cs336::runtime

#endif // CS336_RUNTIME_FORMAT_COLLECTIVEPARTS_H
