//===- RemarkOptions.h - Remarks under the name of their pass ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_STATISTICS_REMARKOPTIONS_H
#define CS336_STATISTICS_REMARKOPTIONS_H

#include "mlir/IR/Remarks.h"

namespace cs336 {

/// Makes the options of a pass's remarks. Their category is the pass's flag, so `--remarks-filter=<flag>` selects them:
///
///     static constexpr RemarkOptions fuseSoftmaxRemarks("cs336-fuse-softmax");
///     remark::passed(op->getLoc(), fuseSoftmaxRemarks("Fused")) << …
class RemarkOptions {
public:
  explicit constexpr RemarkOptions(llvm::StringLiteral pass) : pass(pass) {}

  /// Returns the options of the remark called `name`.
  constexpr mlir::remark::RemarkOpts operator()(llvm::StringRef name) const {
    return mlir::remark::RemarkOpts::name(name).category(pass);
  }

private:
  llvm::StringLiteral pass;
};

} // namespace cs336

#endif // CS336_STATISTICS_REMARKOPTIONS_H
