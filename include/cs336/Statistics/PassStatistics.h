//===- PassStatistics.h - The table of pass statistics ----------*- C++ -*-===//
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

/// Makes `manager` print to `out`, when it is destroyed, the numbers of every CountingPass that it ran: pass, name,
/// value and description, one number per line. Passes are in the order in which they first ran. A pipeline that failed
/// prints the numbers up to its failure. `out` must outlive `manager`.
void enablePassStatistics(mlir::PassManager &manager, llvm::raw_ostream &out);

} // namespace cs336

#endif // CS336_STATISTICS_PASSSTATISTICS_H
