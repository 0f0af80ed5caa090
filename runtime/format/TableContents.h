//===- TableContents.h - The size of an executable's table ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_TABLECONTENTS_H
#define CS336_RUNTIME_FORMAT_TABLECONTENTS_H

#include "cs336/runtime/format/Executable_generated.h"

#include <cstdint>

namespace cs336::runtime {

/// Properties that FlatBuffers' verifier does not check. In a crafted file, many tables can refer to one vector, which
/// unpacking would copy for each of them.
struct TableContents {
  /// All vectors of 8-byte elements begin at multiples of 8 bytes.
  bool is_aligned = true;
  /// The bytes of texts, vectors and references, each counted as often as it is referred to. Counting ends above
  /// `most_bytes`.
  uint64_t bytes = 0;
};

/// Examines a table that FlatBuffers' verifier has accepted. A file without shared parts has at most its own size.
TableContents ExamineTable(const format::Executable &executable, uint64_t most_bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_FORMAT_TABLECONTENTS_H
