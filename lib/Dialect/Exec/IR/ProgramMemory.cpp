//===- ProgramMemory.cpp - What a planned program allocates ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/IR/ProgramMemory.h"

#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"

#include <algorithm>

using namespace mlir;
using namespace cs336;

llvm::DenseSet<StringAttr> exec::getVariablesOnDevice(ModuleOp module) {
  llvm::DenseSet<StringAttr> used;
  for (auto entry : module.getOps<EntryOp>())
    if (entry.getMode() != Mode::Prepare)
      for (auto get : entry.getBody().getOps<GetOp>())
        used.insert(get.getVariableAttr().getAttr());
  return used;
}

int64_t exec::getProgramBytes(ModuleOp module, bool isForGPU) {
  llvm::DenseSet<StringAttr> onDevice = getVariablesOnDevice(module);
  int64_t bytes = 0, arena = 0;
  for (auto variable : module.getOps<VariableOp>())
    if (!isForGPU || onDevice.contains(variable.getSymNameAttr()))
      bytes += getStorageBytes(variable.getReservedType());
  for (auto entry : module.getOps<EntryOp>()) {
    arena = std::max(arena, static_cast<int64_t>(entry.getArenaBytes().value_or(0)));
    for (auto input : entry.getBody().getOps<InputOp>())
      bytes += getStorageBytes(input.getType());
  }
  return bytes + arena;
}
