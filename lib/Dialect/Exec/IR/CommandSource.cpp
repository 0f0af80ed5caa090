//===- CommandSource.cpp - Layer, name and phase out of locations -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/IR/CommandSource.h"

#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

StringRef exec::getSourcePath(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return findPhase(name.getName()) ? getSourcePath(name.getChildLoc()) : name.getName().getValue();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getSourcePath(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef path = getSourcePath(part); !path.empty())
        return path;
  return {};
}

StringRef exec::getSourceName(Location loc) {
  StringRef path = getSourcePath(loc);
  return path.drop_front(path.rfind('.') + 1);
}

std::string exec::printLocation(Location loc) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  loc->print(stream);
  // The keyword `loc(…)` is removed: outside of IR it has no meaning.
  StringRef inner(text);
  if (inner.consume_front("loc(") && inner.consume_back(")"))
    return inner.str();
  return text;
}

CommandPhase exec::detail::getCommandPhase(Operation *command) {
  if (auto entry = command->getParentOfType<EntryOp>(); entry && entry.getMode() == Mode::Prepare)
    return CommandPhase::Prepare;
  switch (getPhase(command->getLoc())) {
  case Phase::Forward:
    return CommandPhase::Forward;
  case Phase::Backward:
    return CommandPhase::Backward;
  case Phase::Communication:
    return CommandPhase::Communication;
  case Phase::Optimizer:
    return CommandPhase::Optimizer;
  }
  llvm_unreachable("a phase without a command phase");
}

static std::string joinWithSource(StringRef what, Operation *command) {
  StringRef source = getSourceName(command->getLoc());
  return source.empty() ? what.str() : (what + "_" + source).str();
}

std::string exec::detail::getDefaultCommandName(Operation *command) {
  return joinWithSource(command->getName().stripDialect(), command);
}

std::string CollectiveOp::getCommandName() { return joinWithSource(stringifyCollectiveKind(getKind()), *this); }
