//===- Phase.h - Part of a step that an operation belongs to ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_PHASE_H
#define CS336_DIALECT_CS336_IR_PHASE_H

#include "mlir/IR/Location.h"

namespace cs336 {

/// Part of a training step, which locations carry: `loc("backward"(loc("layers.0.attn.q_proj")))`. What says nothing
/// else is forward.
enum class Phase { Forward, Backward, Optimizer };

/// "forward", "backward" or "optimizer".
llvm::StringRef stringifyPhase(Phase phase);

/// The phase that `loc` names.
Phase getPhase(mlir::Location loc);

/// `loc`, saying that what stands there belongs to `phase`. The outermost phase counts, so a location that already
/// names one is not wrapped again in the same.
mlir::Location inPhase(Phase phase, mlir::Location loc);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_PHASE_H
