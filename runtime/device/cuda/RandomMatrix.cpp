//===- RandomMatrix.cpp - Random operands for timing GEMMs ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/RandomMatrix.h"

#include "device/cuda/CudaMemory.h"
#include "initializer/Initializer.h"
#include "status/StatusMacros.h"
#include "tensor/Elements.h"

#include <algorithm>

namespace cs336::runtime {

absl::Status FillWithRandom(const CudaContext &context, const MatmulOperand &matrix, int64_t batch, char *address) {
  // This many are drawn on the host, and copied on the device until they fill
  // the memory.
  constexpr int64_t kDrawn = 1 << 16;
  int64_t count = (batch - 1) * matrix.batch_stride + (matrix.columns - 1) * matrix.leading_dimension + matrix.rows;
  CS336_ASSIGN_OR_RETURN(Tensor drawn, Tensor::Create({matrix.dtype, {std::min(count, kDrawn)}}));
  format::InitT init;
  init.kind = format::InitKind::truncated_normal;
  init.std = 1;
  init.cut = 3;
  Initialize(init, /*seed=*/0, "matrix", drawn.mutable_view());

  const DriverApi &driver = context.driver();
  int64_t filled = drawn.num_bytes(), bytes = count * ByteSize(matrix.dtype);
  CS336_RETURN_IF_ERROR(
      driver.MemcpyHtoDAsync(ToDevicePointer(address), drawn.data(), drawn.num_bytes(), context.stream()));
  for (; filled < bytes; filled = std::min(2 * filled, bytes))
    CS336_RETURN_IF_ERROR(driver.MemcpyAsync(ToDevicePointer(address + filled), ToDevicePointer(address),
                                             std::min(filled, bytes - filled), context.stream()));
  return driver.StreamSynchronize(context.stream()); // The drawn numbers are read until then.
}

} // namespace cs336::runtime
