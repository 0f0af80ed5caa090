//===- PeerCopies.cpp - Copies between GPUs by copy engines ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerCopies.h"

#include "status/StatusMacros.h"

#include <cstddef>
#include <limits>

namespace cs336::runtime {

namespace {

/// The limit of every device (CU_DEVICE_ATTRIBUTE_MAX_PITCH).
constexpr int64_t kMostPitch = std::numeric_limits<int32_t>::max();

/// Adds a row to a copy if it has the distance of the others to the last one. A second row determines the distance.
bool AddRow(PeerCopy &copy, const PeerCopy &row) {
  auto distance = [&](CUdeviceptr last, CUdeviceptr next, int64_t pitch) {
    return static_cast<int64_t>(next - last) - (copy.rows - 1) * pitch;
  };
  int64_t dst_pitch = distance(copy.dst, row.dst, copy.dst_pitch);
  int64_t src_pitch = distance(copy.src, row.src, copy.src_pitch);
  auto is_pitch = [&](int64_t pitch) { return copy.bytes <= pitch && pitch <= kMostPitch; };
  bool is_near = row.dst_allocation == copy.dst_allocation && row.src_allocation == copy.src_allocation;
  bool is_next = copy.rows == 1 || (dst_pitch == copy.dst_pitch && src_pitch == copy.src_pitch);
  if (row.bytes != copy.bytes || !is_near || !is_next || !is_pitch(dst_pitch) || !is_pitch(src_pitch))
    return false;
  copy.dst_pitch = dst_pitch;
  copy.src_pitch = src_pitch;
  ++copy.rows;
  return true;
}

absl::Status Enqueue(const PeerCopy &copy, const DriverApi &driver, CUstream stream) {
  auto bytes = static_cast<size_t>(copy.bytes);
  if (copy.rows == 1)
    return driver.MemcpyAsync(copy.dst, copy.src, bytes, stream);
  CUDA_MEMCPY2D rows = {};
  rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  rows.srcDevice = copy.src;
  rows.dstDevice = copy.dst;
  rows.srcPitch = static_cast<size_t>(copy.src_pitch);
  rows.dstPitch = static_cast<size_t>(copy.dst_pitch);
  rows.WidthInBytes = bytes;
  rows.Height = static_cast<size_t>(copy.rows);
  return driver.Memcpy2DAsync(&rows, stream);
}

} // namespace

void PeerCopies::Add(PeerCopy copy) {
  if (copy.bytes == 0)
    return;
  for (PeerCopy &each : copies_)
    if (AddRow(each, copy))
      return;
  copies_.push_back(copy);
}

absl::Status PeerCopies::Enqueue(const CudaContext &context, CUstream stream) const {
  for (const PeerCopy &copy : copies_)
    CS336_RETURN_IF_ERROR(runtime::Enqueue(copy, context.driver(), stream));
  return absl::OkStatus();
}

} // namespace cs336::runtime
