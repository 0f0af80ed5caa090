//===- PredictedTime.cpp - Predicted times of commands --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timeline/PredictedTime.h"

using namespace cs336;
using namespace cs336::bench;

static double getRate(const DeviceModel &model, format::Arithmetic arithmetic) {
  switch (arithmetic) {
  case format::Arithmetic::none:
    break;
  case format::Arithmetic::f64:
    return model.flops64;
  case format::Arithmetic::f32:
    return model.flops32;
  case format::Arithmetic::tf32:
    return model.flopsTF32;
  case format::Arithmetic::tf32x3:
    return model.flopsTF32 / 3;
  case format::Arithmetic::bf16:
  case format::Arithmetic::f16:
    return model.flops16;
  }
  llvm_unreachable("every arithmetic has a rate");
}

PredictedTime bench::predictTime(const DeviceModel &device, const exec::Work &work, format::Arithmetic arithmetic) {
  if (work.getCommands() == 0)
    return {};
  PredictedTime time{work.bytes / device.memoryBytes, 0, device.commandSeconds};
  if (arithmetic != format::Arithmetic::none)
    time.compute = work.flops / getRate(device, arithmetic);
  return time;
}

Bound PredictedTime::getBound() const {
  if (launch > std::max(memory, compute))
    return Bound::Launch;
  return compute > memory ? Bound::Compute : Bound::Memory;
}

llvm::StringRef bench::stringifyBound(Bound bound) {
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
