//===- OutputBoxes.h - Outputs that are put together from boxes -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_OUTPUTBOXES_H
#define CS336_LIB_TARGET_CUDA_OUTPUTBOXES_H

#include "cs336/Target/CUDA/KernelSchedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace cs336::cuda {

/// Loops that write a box of a tensor, element by element.
struct OutputBox {
  mlir::linalg::GenericOp generic;
  unsigned result;
  /// For each dimension of the tensor: its loop, and the start of the box.
  llvm::SmallVector<std::pair<unsigned, int64_t>> loops;

  llvm::SmallVector<int64_t> getShape();
};

/// Returns the box that the tensor's last writer writes, or nothing if the writer reduces or writes in another order.
std::optional<OutputBox> findBox(mlir::Value tensor);

/// Returns the boxes of an output that consists of several boxes of one shape, or none for other outputs.
llvm::SmallVector<OutputBox> findBoxes(const DeviceKernel &kernel, unsigned output);

/// Returns the shape of the points at which an output is computed: the shape of its boxes, or its own.
llvm::SmallVector<int64_t> getPointShape(const DeviceKernel &kernel, unsigned output);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_OUTPUTBOXES_H
