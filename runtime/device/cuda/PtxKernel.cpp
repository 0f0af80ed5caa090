//===- PtxKernel.cpp - A kernel of the runtime's own ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PtxKernel.h"

#include "status/StatusMacros.h"

#include <cstddef>

namespace cs336::runtime {

absl::StatusOr<std::unique_ptr<PtxKernel>> PtxKernel::Load(const CudaContext &context, const std::string &source,
                                                           const char *name, int64_t shared_bytes) {
  std::unique_ptr<PtxKernel> kernel(new PtxKernel(context));
  CurrentContext current(context);
  CS336_RETURN_IF_ERROR(current.status());
  CS336_ASSIGN_OR_RETURN(kernel->module_, LoadCudaModule(context, source.c_str()));
  CS336_RETURN_IF_ERROR(context.driver().ModuleGetFunction(&kernel->function_, kernel->module_.get(), name));
  kernel->shared_bytes_ = static_cast<unsigned>(shared_bytes);
  CS336_RETURN_IF_ERROR(context.driver().FuncSetAttribute(
      kernel->function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(shared_bytes)));
  // Otherwise the driver loads it at the first launch, which a capture cannot
  // contain.
  CS336_RETURN_IF_ERROR(context.driver().FuncLoad(kernel->function_));
  return kernel;
}

absl::Status PtxKernel::Launch(unsigned blocks, unsigned threads, absl::Span<const uint64_t> parameters) const {
  CurrentContext current(context_);
  CS336_RETURN_IF_ERROR(current.status());
  size_t bytes = parameters.size() * sizeof(uint64_t);
  void *buffer[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<uint64_t *>(parameters.data()),
                    CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  return context_.driver().LaunchKernel(function_, blocks, 1, 1, threads, 1, 1, shared_bytes_, context_.stream(),
                                        nullptr, buffer);
}

} // namespace cs336::runtime
