//===- DeviceModel.h - Rates of devices and of their links ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_COST_DEVICEMODEL_H
#define CS336_COST_DEVICEMODEL_H

#include "cs336/Cost/Interconnect.h"

namespace cs336 {

/// The rates that predict the times of commands on a device. Rates are per second.
struct DeviceModel {
  /// "h200".
  llvm::StringLiteral name;
  /// Bytes that are read or written in the device's memory.
  double memoryBytes;
  /// FLOPs in float64; in float32; in float32 with TF32 multiplications; in bfloat16 and float16.
  double flops64, flops32, flopsTF32, flops16;
  /// Seconds of a command that does nothing.
  double commandSeconds;
  /// The links to other devices of this kind.
  Interconnect interconnect;

  /// Returns the FLOPs per second of GEMMs of that element type. The precision matters for float32 only.
  double getFlops(mlir::Type elementType, Precision precision) const;
};

/// Returns the models by name.
llvm::ArrayRef<DeviceModel> getDeviceModels();

/// Returns the model of that name, or null.
const DeviceModel *findDeviceModel(llvm::StringRef name);

/// Returns the model for programs of the target, unless another one is named: "h200" for a GPU, "cpu" otherwise.
const DeviceModel &getDefaultDeviceModel(bool isForGPU);

} // namespace cs336

#endif // CS336_COST_DEVICEMODEL_H
