//===- AttentionResources.cpp - Resources of attention's kernels ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionResources.h"

#include "cs336/Target/NVRTC/CubinResources.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace cs336;
using namespace cs336::bench;

static void add(const format::ImplementationT &implementation, const CubinResources &code, KernelResources &most) {
  most.registersPerThread = std::max(most.registersPerThread, code.registersPerThread);
  most.localBytesPerThread = std::max(most.localBytesPerThread, code.localBytesPerThread);
  for (const auto &function : implementation.functions)
    if (function->symbol == code.name)
      most.sharedBytes = std::max<int64_t>(most.sharedBytes, function->shared_bytes + code.staticSharedBytes);
}

absl::StatusOr<KernelResources> bench::readResources(const runtime::Executable &executable,
                                                     llvm::StringRef architecture) {
  KernelResources most;
  const auto &program = executable.description();
  if (program.target != format::Target::cuda)
    return most;
  for (const auto &kernel : program.kernels)
    for (const auto &implementation : kernel->implementations)
      for (uint32_t object : implementation->objects) {
        if (program.objects[object]->target != architecture)
          continue;
        llvm::Expected<std::vector<CubinResources>> code = readCubinResources(program.objects[object]->image);
        if (!code)
          return absl::DataLossError(
              absl::StrCat("machine code of kernel '", kernel->name, "': ", llvm::toString(code.takeError())));
        most.architecture = architecture.str();
        for (const CubinResources &each : *code)
          add(*implementation, each, most);
      }
  return most;
}
