//===- PassStatistics.h - The table of what passes counted ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_STATISTICS_PASSSTATISTICS_H
#define CS336_STATISTICS_PASSSTATISTICS_H

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir {
class PassManager;
} // namespace mlir

namespace cs336 {

/// When `manager` is destroyed, prints to `out` what every CountingPass that it ran has counted, a line a number: pass,
/// name, value, description. Passes stand in the order in which they first ran. A pipeline that failed prints what it
/// had counted. `out` must outlive `manager`.
void enablePassStatistics(mlir::PassManager &manager, llvm::raw_ostream &out);

} // namespace cs336

#endif // CS336_STATISTICS_PASSSTATISTICS_H
