//===- BucketSize.h - Size of the buckets of gradients ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_TRAINING_BUCKETSIZE_H
#define CS336_DIALECT_CS336_TRANSFORMS_TRAINING_BUCKETSIZE_H

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace cs336 {

/// The size at which a bucket of gradients is complete.
struct BucketSize {
  /// In MiB. 0 stands for a twentieth of all gradients, from 25 to 256.
  double mib = 0;
  /// True for "auto": `cs336-distribute` chooses the size by predicted times, and `mib` is not used.
  bool isAutomatic = false;

  /// Returns whether `mib` is the size.
  bool isGiven() const { return !isAutomatic && mib != 0; }
};

/// Prints "auto" or the number of MiB.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const BucketSize &size);

} // namespace cs336

namespace llvm::cl {

/// Parses "auto" or a finite number, for flags and pass options.
template <>
class parser<cs336::BucketSize> : public basic_parser<cs336::BucketSize> {
public:
  using basic_parser::basic_parser;

  /// Returns true, after an error, for any other text.
  bool parse(Option &option, StringRef, StringRef text, cs336::BucketSize &size);
  void printOptionDiff(const Option &option, const cs336::BucketSize &size, const OptVal &, size_t width) const {
    printOptionName(option, width);
    outs() << "= " << size << '\n';
  }
};

} // namespace llvm::cl

#endif // CS336_DIALECT_CS336_TRANSFORMS_TRAINING_BUCKETSIZE_H
