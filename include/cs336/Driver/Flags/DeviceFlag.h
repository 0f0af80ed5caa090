//===- DeviceFlag.h - Flags whose value is a device -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_DEVICEFLAG_H
#define CS336_DRIVER_FLAGS_DEVICEFLAG_H

#include "cs336/Target/CompiledKernels.h"
#include "cs336/runtime/DeviceId.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace llvm::cl {

template <>
class parser<cs336::runtime::DeviceId> : public basic_parser<cs336::runtime::DeviceId> {
public:
  using basic_parser::basic_parser;
  bool parse(Option &option, StringRef name, StringRef text, cs336::runtime::DeviceId &device);
  StringRef getValueName() const override { return "device"; }
  void printOptionDiff(const Option &option, const cs336::runtime::DeviceId &value,
                       const OptionValue<cs336::runtime::DeviceId> &defaultValue, size_t width) const;
};

} // namespace llvm::cl

namespace cs336 {

/// `--device`.
class DeviceFlag : public llvm::cl::opt<runtime::DeviceId> {
public:
  DeviceFlag(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand)
      : opt("device", llvm::cl::desc("cpu (default), cuda, or cuda:N for GPU number N"),
            llvm::cl::value_desc("cpu|cuda"), llvm::cl::cat(category), llvm::cl::sub(subcommand)) {}
};

/// Returns the target that programs for the device are planned and compiled for.
Target getTarget(runtime::DeviceId device);

/// Returns the default architectures of kernels for the device: that of the GPU, or sm_90a if there is no GPU.
std::vector<std::string> getArchitectures(runtime::DeviceId device);

/// Returns the memory that programs may use on the device, in bytes: 95 % of the free memory. The rest is for the
/// context, modules and workspaces of libraries. Starts a GPU, and returns its error if it does not start.
absl::StatusOr<int64_t> getMemoryBudget(runtime::DeviceId device);

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_DEVICEFLAG_H
