//===- SourcePositions.h - Where named locations are in IR text -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIAGNOSTICS_SOURCEPOSITIONS_H
#define CS336_DIAGNOSTICS_SOURCEPOSITIONS_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace cs336 {

/// A line and a column of a text, both from 1.
struct SourcePosition {
  unsigned line, column;

  bool operator==(const SourcePosition &other) const = default;
};

/// Finds the operations and block arguments of IR text by their locations. The text is parsed once more when the first
/// location is looked up, since parsed IR keeps no position where the text gives a location.
class SourcePositions {
public:
  /// `chunk` is the part of `text` that is one module; positions count from the start of `text`. Both must outlive this
  /// object. `registry` has the dialects of the text.
  SourcePositions(llvm::StringRef text, llvm::StringRef chunk, const mlir::DialectRegistry &registry);

  /// Returns the positions of operations with the location `loc` in the text, in order. If there are none, returns
  /// those of operations with its innermost name: a pass makes `loc("backward"("layers.0.attn"))` of
  /// `loc("layers.0.attn")`. Returns an empty array if the location has no name, if the text does not have it, and if
  /// the text cannot be parsed.
  llvm::ArrayRef<SourcePosition> find(mlir::Location loc);

  /// Returns a line of the text, without its end; empty if there is no such line.
  llvm::StringRef getLine(unsigned line) const;

private:
  void read();
  void add(mlir::Location loc, const char *position, const char *start);

  llvm::StringRef text, chunk;
  mlir::DialectRegistry registry;
  bool wasRead = false;
  /// By the location as it prints, and by its innermost name.
  llvm::StringMap<std::vector<SourcePosition>> byLocation, byName;
};

} // namespace cs336

#endif // CS336_DIAGNOSTICS_SOURCEPOSITIONS_H
