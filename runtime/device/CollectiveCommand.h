//===- CollectiveCommand.h - Collectives as prepared commands ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_COLLECTIVECOMMAND_H
#define CS336_RUNTIME_DEVICE_COLLECTIVECOMMAND_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/Device.h"

#include "absl/types/span.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace cs336::runtime {

/// One operand of a collective, with its numbers of elements.
struct Transfer {
  const void *src;
  void *dst;
  int64_t src_count, dst_count;
  DType dtype;
  /// Rows of a part of `src`. If there are several, parts are columns of a matrix: row 0 of each part is before row 1.
  int64_t src_rows = 1;
  /// `dst` has the parts of all ranks, or of all but this one.
  bool others = false;

  /// Returns the elements of the part of one of `ranks` ranks in `dst`.
  int64_t part_count(int ranks) const { return dst_count / (others ? ranks - 1 : ranks); }
  /// Returns the bytes of a row of a part.
  int64_t row_bytes(int parts) const { return src_count * ByteSize(dtype) / (parts * src_rows); }
  /// Returns the bytes of `src` before a row of a part.
  int64_t row_offset(int part, int64_t row, int parts) const { return (row * parts + part) * row_bytes(parts); }
  /// Returns the position of the part of rank `of` in `dst` of `rank`. With `others`, they are different ranks.
  int position(int of, int rank) const { return others && of > rank ? of - 1 : of; }
};

/// Returns the operands of a collective, in order.
std::vector<Transfer> BindTransfers(absl::Span<const MutableTensorView> buffers, const format::CollectiveT &collective);

/// Prepares a collective of `communicator`, which must outlive the command. Errors of its execution name the command.
std::unique_ptr<PreparedCommand> PrepareCollective(Communicator &communicator, const CommandContext &context,
                                                   const format::CollectiveT &collective);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_COLLECTIVECOMMAND_H
