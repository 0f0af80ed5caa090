//===- StorageRange.cpp - The bytes that a buffer names -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/StorageRange.h"

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/Tensor.h"
#include "format/Layout.h"

namespace cs336::runtime {

StorageRange RangeOf(const format::ExecutableT &executable, const format::BufferT &buffer) {
  if (buffer.source == format::BufferSource::gathered) {
    const format::VariableT &variable = *executable.variables[buffer.index];
    return {{format::BufferSource::variable, buffer.index}, 0, TensorView(ReservedType(variable), nullptr).num_bytes()};
  }
  uint32_t index = buffer.source == format::BufferSource::arena ? 0 : buffer.index;
  int64_t bytes = ExtentBytes(Layout(buffer)) + buffer.part_distance * (executable.world_size - 1);
  return {{buffer.source, index}, buffer.byte_offset, buffer.byte_offset + bytes};
}

} // namespace cs336::runtime
