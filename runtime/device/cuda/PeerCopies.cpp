//===- PeerCopies.cpp - Copies between GPUs by copy engines ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerCopies.h"

#include "status/StatusMacros.h"

namespace cs336::runtime {

void PeerCopies::Add(PeerCopy copy) {
  if (copy.bytes != 0)
    copies_.push_back(copy);
}

absl::Status PeerCopies::Enqueue(const CudaContext &context, CUstream stream) const {
  for (const PeerCopy &copy : copies_)
    CS336_RETURN_IF_ERROR(context.driver().MemcpyAsync(copy.dst, copy.src, static_cast<size_t>(copy.bytes), stream));
  return absl::OkStatus();
}

} // namespace cs336::runtime
