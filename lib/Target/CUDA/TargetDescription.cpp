//===- TargetDescription.cpp - GPUs as schedules see them -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/TargetDescription.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

static constexpr llvm::StringLiteral architecturesAttr = "exec.architectures";

/// Shared memory, warps and blocks are from the table "Technical Specifications per Compute Capability" of the CUDA C++
/// programming guide.
static constexpr int64_t registers = 64 * 1024;
static constexpr TargetDescription targets[] = {
    {"sm_80", 108, 163 * 1024, registers, 164 * 1024, 64, 32, false, false},
    {"sm_86", 84, 99 * 1024, registers, 100 * 1024, 48, 16, false, false},
    {"sm_87", 16, 163 * 1024, registers, 164 * 1024, 48, 16, false, false},
    {"sm_89", 142, 99 * 1024, registers, 100 * 1024, 48, 24, false, false},
    {"sm_90", 132, 227 * 1024, registers, 228 * 1024, 64, 32, true, false},
    {"sm_90a", 132, 227 * 1024, registers, 228 * 1024, 64, 32, true, true},
    {"sm_100", 148, 227 * 1024, registers, 228 * 1024, 64, 32, true, false},
    {"sm_100a", 148, 227 * 1024, registers, 228 * 1024, 64, 32, true, false},
    {"sm_100f", 148, 227 * 1024, registers, 228 * 1024, 64, 32, true, false},
    {"sm_120", 188, 99 * 1024, registers, 100 * 1024, 48, 24, true, false},
    {"sm_120a", 188, 99 * 1024, registers, 100 * 1024, 48, 24, true, false},
    {"sm_120f", 188, 99 * 1024, registers, 100 * 1024, 48, 24, true, false},
};

const TargetDescription &cs336::cuda::getTarget(StringRef architecture) {
  const auto *found = llvm::find_if(targets, [&](const auto &target) { return target.name == architecture; });
  return found == std::end(targets) ? portableTarget : *found;
}

bool cs336::cuda::isArchitectureName(StringRef name) {
  constexpr unsigned least = 80;
  unsigned number;
  if (!name.consume_front("sm_") || name.consumeInteger(10, number))
    return false;
  return number >= least && (name.empty() || name == "a" || name == "f");
}

void cs336::cuda::setArchitectures(ModuleOp module, ArrayRef<std::string> architectures) {
  llvm::SmallSetVector<StringRef, 4> names(architectures.begin(), architectures.end());
  module->setAttr(architecturesAttr, Builder(module.getContext()).getStrArrayAttr(names.getArrayRef()));
}

FailureOr<std::vector<std::string>> cs336::cuda::getArchitectures(ModuleOp module) {
  std::vector<std::string> architectures;
  Attribute attribute = module->getAttr(architecturesAttr);
  if (!attribute)
    return architectures;
  auto names = dyn_cast<ArrayAttr>(attribute);
  if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return emitError(module.getLoc()) << "'" << architecturesAttr << "' is " << attribute
                                      << ", must be an array of names such as [\"sm_80\", \"sm_90a\"]";
  for (auto name : names.getAsRange<StringAttr>()) {
    if (!isArchitectureName(name.getValue()))
      return emitError(module.getLoc()) << "unknown architecture '" << name.getValue() << "' in '" << architecturesAttr
                                        << "': names are as in sm_80 and sm_90a, from sm_80 on";
    architectures.push_back(name.getValue().str());
  }
  return architectures;
}
