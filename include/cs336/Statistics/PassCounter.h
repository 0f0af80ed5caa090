//===- PassCounter.h - Numbers that a pass counts ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_STATISTICS_PASSCOUNTER_H
#define CS336_STATISTICS_PASSCOUNTER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace cs336 {

/// A number with its name and description.
struct PassCount {
  PassCount(llvm::StringLiteral name, llvm::StringLiteral description) : name(name), description(description) {}

  llvm::StringLiteral name;
  llvm::StringLiteral description;
  std::atomic<uint64_t> value = 0;
};

/// The base class of a pass that counts, beside its generated base. A copy of a pass shares its numbers, so that the
/// counts of MLIR's copies for threads and nested pipelines add up.
///
/// It replaces MLIR's own Pass::Statistic, which counts nothing in release builds of MLIR: it requires assertions or
/// LLVM_FORCE_ENABLE_STATS.
class CountingPass {
public:
  virtual ~CountingPass();

  llvm::ArrayRef<std::shared_ptr<const PassCount>> getCounts() const { return counts; }

private:
  friend class PassCounter;
  llvm::SmallVector<std::shared_ptr<const PassCount>> counts;
};

/// A member of a pass that counts, from any thread:
///
///     PassCounter numMerged{this, "num-merged", "Number of linears replaced"};
class PassCounter {
public:
  PassCounter(CountingPass *owner, llvm::StringLiteral name, llvm::StringLiteral description);

  PassCounter &operator+=(uint64_t amount) {
    count->value.fetch_add(amount, std::memory_order_relaxed);
    return *this;
  }
  PassCounter &operator++() { return *this += 1; }

private:
  std::shared_ptr<PassCount> count;
};

} // namespace cs336

#endif // CS336_STATISTICS_PASSCOUNTER_H
