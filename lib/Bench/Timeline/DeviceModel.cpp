//===- DeviceModel.cpp - Predicted times of commands ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timeline/DeviceModel.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

/// The rates of "h200" were measured on one with a copy and with large GEMMs of random numbers. Those of "a100" are the
/// data sheet's (SXM, 80 GB). "cpu" stands for two cores of a laptop.
static constexpr DeviceModel kModels[] = {
    {"h200", 4.24e12, 450e9, 60e12, 47e12, 340e12, 700e12, 2e-6},
    {"a100", 2.04e12, 300e9, 9.7e12, 19.5e12, 156e12, 312e12, 3e-6},
    {"cpu", 1e10, 1e9, 1e10, 2e10, 2e10, 2e10, 5e-6},
};

llvm::ArrayRef<DeviceModel> cs336::bench::getDeviceModels() { return kModels; }

const DeviceModel *cs336::bench::findDeviceModel(llvm::StringRef name) {
  const auto *found = llvm::find_if(kModels, [&](const DeviceModel &model) { return model.name == name; });
  return found == std::end(kModels) ? nullptr : found;
}

const DeviceModel &cs336::bench::getDefaultDeviceModel(bool isForGPU) {
  return *findDeviceModel(isForGPU ? "h200" : "cpu");
}

static double getRate(const DeviceModel &model, exec::Arithmetic arithmetic) {
  if (arithmetic.elementType.isF64())
    return model.flops64;
  if (!arithmetic.elementType.isF32())
    return model.flops16;
  switch (arithmetic.precision) {
  case Precision::IEEE:
    return model.flops32;
  case Precision::TF32:
    return model.flopsTF32;
  case Precision::TF32x3:
    return model.flopsTF32 / 3;
  }
  llvm_unreachable("every precision has a rate");
}

PredictedTime DeviceModel::predict(const exec::Work &work, exec::Arithmetic arithmetic, bool isCollective) const {
  if (work.getCommands() == 0)
    return {};
  PredictedTime time{work.bytes / (isCollective ? linkBytes : memoryBytes), 0, commandSeconds};
  if (arithmetic.elementType)
    time.compute = work.flops / getRate(*this, arithmetic);
  return time;
}

Bound PredictedTime::getBound() const {
  if (launch > std::max(memory, compute))
    return Bound::Launch;
  return compute > memory ? Bound::Compute : Bound::Memory;
}

llvm::StringRef cs336::bench::stringifyBound(Bound bound) {
  switch (bound) {
  case Bound::Memory:
    return "memory";
  case Bound::Compute:
    return "compute";
  case Bound::Launch:
    return "launch";
  }
  llvm_unreachable("every bound has a name");
}
