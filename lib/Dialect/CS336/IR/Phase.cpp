//===- Phase.cpp - Part of a step that an operation belongs to ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/Phase.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace cs336;

StringRef cs336::stringifyPhase(Phase phase) {
  switch (phase) {
  case Phase::Forward:
    return "forward";
  case Phase::Backward:
    return "backward";
  case Phase::Communication:
    return "communication";
  case Phase::Optimizer:
    return "optimizer";
  }
  llvm_unreachable("every phase has a name");
}

std::optional<Phase> cs336::findPhase(StringRef name) {
  for (Phase phase : {Phase::Backward, Phase::Communication, Phase::Optimizer})
    if (name == stringifyPhase(phase))
      return phase;
  return std::nullopt;
}

Phase cs336::getPhase(Location loc) {
  Phase found = Phase::Forward;
  loc->walk([&](Location inner) {
    if (auto named = dyn_cast<NameLoc>(inner))
      if (std::optional<Phase> phase = findPhase(named.getName())) {
        found = *phase;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return found;
}

Location cs336::inPhase(Phase phase, Location loc) {
  if (getPhase(loc) == phase)
    return loc;
  return NameLoc::get(StringAttr::get(loc->getContext(), stringifyPhase(phase)), loc);
}
