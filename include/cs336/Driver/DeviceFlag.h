//===- DeviceFlag.h - Flags whose value is a device -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_DEVICEFLAG_H
#define CS336_DRIVER_DEVICEFLAG_H

#include "cs336/Target/CompiledKernels.h"
#include "cs336/runtime/DeviceId.h"
#include "llvm/Support/CommandLine.h"

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
      : opt("device", llvm::cl::desc("cpu (default), cuda, or cuda:N for the GPU of that number"),
            llvm::cl::value_desc("cpu|cuda"), llvm::cl::cat(category), llvm::cl::sub(subcommand)) {}
};

/// What programs for the device are planned and compiled for.
Target getTarget(runtime::DeviceId device);

/// What kernels for the device are compiled for where nobody says: the architecture of that GPU, or sm_90a where there
/// is none.
std::vector<std::string> getArchitectures(runtime::DeviceId device);

} // namespace cs336

#endif // CS336_DRIVER_DEVICEFLAG_H
