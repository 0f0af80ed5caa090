//===- PositionHandler.h - Diagnostics with files and lines -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIAGNOSTICS_POSITIONHANDLER_H
#define CS336_DIAGNOSTICS_POSITIONHANDLER_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringRef.h"

#include <memory>

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace cs336 {

class SourcePositions;

/// Adds the file and the line of IR text to diagnostics whose locations have only a name, such as
/// `loc("layers.0.attn")`: it emits them again at the operation with this name, with the location as text. Other
/// diagnostics are not changed. An error at a number that needs a decimal point gets a note with the right spelling.
///
/// Construct it after the handler that prints: this object passes diagnostics to the handler that was registered before
/// it.
class PositionHandler : public mlir::ScopedDiagnosticHandler {
public:
  /// `text` is the IR that `context` reads and `name` its file. Both must outlive the handler.
  PositionHandler(llvm::StringRef text, llvm::StringRef name, mlir::MLIRContext *context);
  /// For tools that print diagnostics. The text is the main buffer of `sources`. Diagnostics without a location, such
  /// as errors in flags, are printed without a position.
  PositionHandler(const llvm::SourceMgr &sources, mlir::MLIRContext *context);
  ~PositionHandler();

private:
  std::unique_ptr<SourcePositions> positions;
};

/// Does the same as PositionHandler of a tool for contexts that other code creates from `registry`, one after the
/// other: one for each part of `text` between two `splitMarker`s, or one if the marker is empty. `text` and `name` must
/// outlive them.
void addPositionHandlers(mlir::DialectRegistry &registry, llvm::StringRef text, llvm::StringRef name,
                         llvm::StringRef splitMarker);

} // namespace cs336

#endif // CS336_DIAGNOSTICS_POSITIONHANDLER_H
