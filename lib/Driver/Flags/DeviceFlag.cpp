//===- DeviceFlag.cpp - Flags whose value is a device ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Flags/DeviceFlag.h"

#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/runtime/CudaInfo.h"
#include "cs336/runtime/Storage.h"

using namespace llvm;
using namespace cs336;
using runtime::DeviceId;

bool cl::parser<DeviceId>::parse(Option &option, StringRef name, StringRef text, DeviceId &device) {
  absl::StatusOr<DeviceId> parsed = runtime::ParseDevice(absl::string_view(text.data(), text.size()));
  if (!parsed.ok())
    return option.error(std::string(parsed.status().message()));
  device = *parsed;
  return false;
}

void cl::parser<DeviceId>::printOptionDiff(const Option &option, const DeviceId &value,
                                           const OptionValue<DeviceId> &defaultValue, size_t width) const {
  printOptionName(option, width);
  outs() << "= " << runtime::ToString(value) << "\n";
}

Target cs336::getTarget(DeviceId device) {
  switch (device.kind) {
  case runtime::DeviceKind::kCpu:
    return Target::CPU;
  case runtime::DeviceKind::kCuda:
    return Target::CUDA;
  }
  llvm_unreachable("every kind of device has a case");
}

std::vector<std::string> cs336::getArchitectures(DeviceId device) {
  if (device.kind == runtime::DeviceKind::kCuda)
    if (absl::StatusOr<std::string> own = runtime::QueryCudaTarget(device.ordinal); own.ok())
      return {*own};
  return CompileOptions().architectures;
}

absl::StatusOr<int64_t> cs336::getMemoryBudget(DeviceId device) {
  int64_t free = 0;
  switch (device.kind) {
  case runtime::DeviceKind::kCpu:
    free = runtime::AvailableHostMemory();
    break;
  case runtime::DeviceKind::kCuda: {
    absl::StatusOr<runtime::CudaMemoryInfo> memory = runtime::QueryCudaMemory(device.ordinal);
    if (!memory.ok())
      return memory.status();
    free = memory->free_bytes;
    break;
  }
  }
  return free / 100 * 95;
}
