//===- CudaModule.cpp - Code loaded on a GPU ------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaModule.h"

#include "status/StatusMacros.h"

namespace cs336::runtime {

void UnloadModule::operator()(CUmodule module) const {
  CurrentContext current(*context);
  context->driver().ModuleUnload(module).IgnoreError();
}

absl::StatusOr<CudaModule> LoadCudaModule(const CudaContext &context, const void *image) {
  CUmodule module = nullptr;
  CS336_RETURN_IF_ERROR(context.driver().ModuleLoadData(&module, image));
  return CudaModule(module, UnloadModule{&context});
}

} // namespace cs336::runtime
