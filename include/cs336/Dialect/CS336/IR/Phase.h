//===- Phase.h - Part of a step that an operation belongs to ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_PHASE_H
#define CS336_DIALECT_CS336_IR_PHASE_H

#include "mlir/IR/Location.h"

#include <optional>

namespace cs336 {

/// The part of a training step that a location carries: `loc("backward"(loc("layers.0.attn.q_proj")))`. Locations
/// without a phase are forward.
enum class Phase { Forward, Backward, Communication, Optimizer };

/// Returns "forward", "backward", "communication" or "optimizer".
llvm::StringRef stringifyPhase(Phase phase);

/// Returns the phase that a name in a location stands for. No name stands for Forward.
std::optional<Phase> findPhase(llvm::StringRef name);

/// Returns the phase that `loc` names.
Phase getPhase(mlir::Location loc);

/// Returns `loc` with `phase` around it. The outermost phase counts. A location that already has this phase is returned
/// unchanged.
mlir::Location inPhase(Phase phase, mlir::Location loc);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_PHASE_H
