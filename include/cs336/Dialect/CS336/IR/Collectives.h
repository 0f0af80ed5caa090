//===- Collectives.h - Rules that collectives of both dialects share -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_COLLECTIVES_H
#define CS336_DIALECT_CS336_IR_COLLECTIVES_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "mlir/IR/ValueRange.h"

#include <optional>

namespace cs336 {

/// The attributes of a collective, of either dialect.
struct CollectiveAttributes {
  CollectiveKind kind;
  std::optional<CollectiveReduction> reduction;
  /// The number of ranks, as written. It may be out of range before verification.
  int64_t group;
  std::optional<int64_t> root;
  /// Results have the parts of all other ranks, but not that of this rank.
  bool others = false;

  /// Returns the number of parts of a result that has a part of each rank.
  int64_t getNumResultParts() const { return others ? group - 1 : group; }
};

/// Returns the attributes of a `cs336.collective` or an `exec.collective`. Only the latter may have `others`.
template <typename OpT>
CollectiveAttributes getCollectiveAttributes(OpT op, bool others = false) {
  std::optional<uint64_t> root = op.getRoot();
  return {op.getKind(), op.getReduction(), static_cast<int64_t>(op.getGroup()),
          root ? std::optional<int64_t>(*root) : std::nullopt, others};
}

/// Returns whether the kind combines elements of several ranks, and therefore requires a reduction.
bool isReducing(CollectiveKind kind);
/// Returns whether the kind copies without reducing, and each target has a part from each rank.
bool writesParts(CollectiveKind kind);

/// Verifies the attributes, and that each source and the target at its position have types that the kind allows.
/// `sources` and `targets` are tensors or buffers.
mlir::LogicalResult verifyCollective(mlir::Operation *op, const CollectiveAttributes &attributes,
                                     mlir::TypeRange sources, mlir::TypeRange targets);

/// Returns the bytes that each of `group` ranks sends if ring algorithms run the collective, at most the largest
/// int64_t. `bytes` are those of all parts together: of an all-gather's result, and of the operand of other kinds.
int64_t getRingBytes(CollectiveKind kind, int64_t group, int64_t bytes);

/// Assembly of the kind and the reduction: `all_reduce sum`, `all_gather`.
mlir::ParseResult parseCollectiveKind(mlir::OpAsmParser &parser, CollectiveKindAttr &kind,
                                      CollectiveReductionAttr &reduction);
void printCollectiveKind(mlir::OpAsmPrinter &printer, mlir::Operation *, CollectiveKindAttr kind,
                         CollectiveReductionAttr reduction);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_COLLECTIVES_H
