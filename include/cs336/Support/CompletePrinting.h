//===- CompletePrinting.h - IR as text that tells all -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_COMPLETEPRINTING_H
#define CS336_SUPPORT_COMPLETEPRINTING_H

#include "mlir/IR/OperationSupport.h"

#include <limits>

namespace cs336 {

/// Returns flags for text that is compared or hashed: it contains every constant and every region, also if flags of the
/// command line, such as --mlir-elide-elementsattrs-if-larger, abridge what a tool prints.
inline mlir::OpPrintingFlags printCompletely() {
  return mlir::OpPrintingFlags()
      .elideLargeElementsAttrs(std::numeric_limits<int64_t>::max())
      .elideLargeResourceString(std::numeric_limits<int64_t>::max())
      .skipRegions(false);
}

} // namespace cs336

#endif // CS336_SUPPORT_COMPLETEPRINTING_H
